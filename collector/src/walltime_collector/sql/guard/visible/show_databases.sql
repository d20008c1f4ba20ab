SELECT name FROM system.databases WHERE (name LIKE {like:String}) = {is_like:Bool} ORDER BY name
