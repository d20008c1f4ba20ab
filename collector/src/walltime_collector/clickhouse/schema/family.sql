multiIf(
        component = 'other', 'other',
        component IN ('view', 'middleware'), 'view',
        component IN ('template.render', 'serialize', 'orm.compile', 'orm.load', 'session', 'auth'), 'framework',
        startsWith(component, 'mysql.'), 'mysql',
        startsWith(component, 'memcache.'), 'memcache',
        startsWith(component, 'redis.'), 'redis',
        startsWith(component, 'http.'), 'http',
        startsWith(component, 'python.'), 'python',
        'application')
