"""The site's part that is made with Django REST framework."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, Permission
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import APIView

from tests.sdk.components.django_site import truth


class Authentication(BaseAuthentication):  # type: ignore[misc]
    def authenticate(self, request: Any) -> None:
        truth["auth"] += 1


class OfPermission(serializers.ModelSerializer):  # type: ignore[misc]
    class Meta:
        model = Permission
        fields = ("name",)


class OfGroup(serializers.ModelSerializer):  # type: ignore[misc]
    permissions = OfPermission(many=True)

    class Meta:
        model = Group
        fields = ("name", "permissions")


class Groups(APIView):  # type: ignore[misc]
    authentication_classes = (Authentication,)
    permission_classes = ()
    renderer_classes = (JSONRenderer,)

    def get(self, request: Any) -> Response:
        truth["view"] += 1
        truth["serialize"] += 2  # the data, and the bytes of the response
        truth["orm.load"] += 1
        truth["orm.compile"] += 2
        groups = list(Group.objects.prefetch_related("permissions").order_by("id"))
        return Response(OfGroup(groups, many=True).data)
