"""django-oscar as its documentation sets it up, on MariaDB and memcached, with the search in Python (Whoosh)."""

from pathlib import Path

from django_servers import CACHE, DATABASE
from oscar.defaults import *  # noqa: F403

HERE = Path(__file__).parent
SECRET_KEY = "not secret"
DEBUG = False
ALLOWED_HOSTS = ["*"]
SITE_ID = 1
USE_TZ = True
TIME_ZONE = "UTC"
_DJANGO = ("admin", "auth", "contenttypes", "sessions", "messages", "staticfiles", "sites", "flatpages")
_OSCAR = (
    "analytics.apps.AnalyticsConfig", "checkout.apps.CheckoutConfig", "address.apps.AddressConfig",
    "shipping.apps.ShippingConfig", "catalogue.apps.CatalogueConfig", "catalogue.reviews.apps.CatalogueReviewsConfig",
    "communication.apps.CommunicationConfig", "partner.apps.PartnerConfig", "basket.apps.BasketConfig",
    "payment.apps.PaymentConfig", "offer.apps.OfferConfig", "order.apps.OrderConfig", "customer.apps.CustomerConfig",
    "search.apps.SearchConfig", "voucher.apps.VoucherConfig", "wishlists.apps.WishlistsConfig",
    "dashboard.apps.DashboardConfig", "dashboard.reports.apps.ReportsDashboardConfig",
    "dashboard.users.apps.UsersDashboardConfig", "dashboard.orders.apps.OrdersDashboardConfig",
    "dashboard.catalogue.apps.CatalogueDashboardConfig", "dashboard.offers.apps.OffersDashboardConfig",
    "dashboard.partners.apps.PartnersDashboardConfig", "dashboard.pages.apps.PagesDashboardConfig",
    "dashboard.ranges.apps.RangesDashboardConfig", "dashboard.reviews.apps.ReviewsDashboardConfig",
    "dashboard.vouchers.apps.VouchersDashboardConfig", "dashboard.communications.apps.CommunicationsDashboardConfig",
    "dashboard.shipping.apps.ShippingDashboardConfig",
)  # fmt: skip
INSTALLED_APPS = [
    *(f"django.contrib.{name}" for name in _DJANGO),
    "oscar.config.Shop",
    *(f"oscar.apps.{name}" for name in _OSCAR),
    *("widget_tweaks", "haystack", "treebeard", "sorl.thumbnail", "django_tables2"),
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "oscar.apps.basket.middleware.BasketMiddleware",
    "django.contrib.flatpages.middleware.FlatpageFallbackMiddleware",
]
AUTHENTICATION_BACKENDS = (
    "oscar.apps.customer.auth_backends.EmailBackend",
    "django.contrib.auth.backends.ModelBackend",
)
ROOT_URLCONF = "shop_urls"
_CONTEXT_PROCESSORS = (
    "django.template.context_processors.debug",
    "django.template.context_processors.request",
    "django.contrib.auth.context_processors.auth",
    "django.contrib.messages.context_processors.messages",
    "oscar.apps.search.context_processors.search_form",
    "oscar.apps.checkout.context_processors.checkout",
    "oscar.apps.communication.notifications.context_processors.notifications",
    "oscar.core.context_processors.metadata",
)
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": list(_CONTEXT_PROCESSORS)},
    }
]
HAYSTACK_CONNECTIONS = {
    "default": {"ENGINE": "haystack.backends.whoosh_backend.WhooshEngine", "PATH": str(HERE / "index")}
}
DATABASES = {"default": {**DATABASE, "ATOMIC_REQUESTS": True}}
CACHES = {"default": CACHE}
SESSION_ENGINE = "django.contrib.sessions.backends.cached_db"
STATIC_URL = "/static/"
MEDIA_ROOT = str(HERE / "media")
MEDIA_URL = "/media/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
