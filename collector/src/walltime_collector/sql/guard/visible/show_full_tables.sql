SELECT name, engine FROM system.tables
WHERE (name LIKE {like:String}) = {is_like:Bool} AND is_temporary = {is_temporary:Bool} ORDER BY name
