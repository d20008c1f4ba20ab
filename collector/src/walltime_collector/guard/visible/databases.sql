SELECT name, engine, comment FROM system.databases WHERE name = {database:String}
