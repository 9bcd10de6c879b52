#!/bin/sh
# The registration in Entra ID that people sign in with, for the hooks of azure.yaml. docs/azure.md has the same steps by hand.
set -eu
test "${ORC_AUTH_MODE:-easyauth}" = easyauth || exit 0

case $1 in
create) # before the templates, which ask for its id
  test -z "${ORC_AUTH_CLIENT_ID:-}" || exit 0
  id=$(az ad app create --display-name "Orc ($AZURE_ENV_NAME)" --sign-in-audience AzureADMyOrg \
    --enable-id-token-issuance true --query appId --output tsv --app-roles '[{
      "allowedMemberTypes": ["User"], "value": "orc.admin", "displayName": "Orc administrator",
      "description": "Reads telemetry and creates collections", "isEnabled": true}]') || {
    echo "Without the Azure CLI and the right to register applications: azd env set ORC_AUTH_CLIENT_ID ..." >&2
    exit 1
  }
  az ad sp create --id "$id" --output none # Its "enterprise application" has who may be an administrator.
  azd env set ORC_AUTH_CLIENT_ID "$id" # last: what has failed before is done again
  ;;
return) # after them: the address has the name that Azure gave to the function app
  known=$(az ad app show --id "$ORC_AUTH_CLIENT_ID" --query 'web.redirectUris[]' --output tsv) \
    && { printf '%s\n' "$known" | grep -qxF "$AUTH_REDIRECT_URI" \
      || az ad app update --id "$ORC_AUTH_CLIENT_ID" --web-redirect-uris $known "$AUTH_REDIRECT_URI"; } \
    || echo "People cannot sign in before this address is in the app registration: $AUTH_REDIRECT_URI" >&2
  ;;
esac
