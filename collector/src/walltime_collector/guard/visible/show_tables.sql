SELECT name FROM system.tables WHERE (name LIKE {like:String}) = {is_like:Bool} ORDER BY name
