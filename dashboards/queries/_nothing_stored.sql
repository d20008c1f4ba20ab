        'No transaction is stored yet. Send the first: OTEL_SERVICE_NAME=shop walltime-run gunicorn shop:app. If this line stays: walltime doctor'
