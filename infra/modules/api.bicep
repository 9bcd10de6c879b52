// The API and the ingestion on Flex Consumption. People sign in with Entra before a request reaches the code.
param location string
param tags object
param token string
param identityId string
param identityClientId string
param hostStorageName string
param packageContainer string
param queueEndpoint string
param scopeKeyUri string
param authClientId string
param authMode string
param concurrencyPerInstance int
param maximumInstances int
param alwaysReadyInstances int
param updateStrategy string
param publicAccess string
param subnetId string
@secure()
param settings object

var identitySettings = {
  AZURE_CLIENT_ID: identityClientId
  AzureWebJobsStorage__accountName: hostStorageName
  AzureWebJobsStorage__credential: 'managedidentity'
  AzureWebJobsStorage__clientId: identityClientId
  ORC_QUEUE__queueServiceUri: queueEndpoint
  ORC_QUEUE__credential: 'managedidentity'
  ORC_QUEUE__clientId: identityClientId
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
}
var ownSettings = {
  ORC_AUTH_MODE: authMode
  // The sign-in below sets the header, and removes that of callers, whether or not this plan reports it.
  ORC_ADVANCED: string(union(json(settings.ORC_ADVANCED), { trust_principal_header: authMode == 'easyauth' }))
  ORC_DATA_DIR: '/tmp/orc'
  // The web page is served at the root, where the host would show its own page.
  AzureWebJobsDisableHomepage: 'true'
  ORC_SCOPE_SIGNING_KEY: '@Microsoft.KeyVault(SecretUri=${scopeKeyUri})'
}

resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  name: 'plan-${token}'
  location: location
  tags: tags
  kind: 'functionapp'
  sku: { tier: 'FlexConsumption', name: 'FC1' }
  properties: { reserved: true }
}

resource app 'Microsoft.Web/sites@2024-11-01' = {
  name: 'func-${token}'
  location: location
  tags: union(tags, { 'azd-service-name': 'api' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    publicNetworkAccess: publicAccess
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    keyVaultReferenceIdentity: identityId
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packageContainer
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      runtime: { name: 'python', version: '3.13' }
      #disable-next-line BCP037 // documented by Microsoft, and not in its definitions yet
      siteUpdateStrategy: updateStrategy == 'Recreate' ? null : { type: updateStrategy }
      scaleAndConcurrency: {
        instanceMemoryMB: 2048
        maximumInstanceCount: maximumInstances
        alwaysReady: alwaysReadyInstances == 0 ? [] : [{ name: 'http', instanceCount: alwaysReadyInstances }]
        triggers: { http: { perInstanceConcurrency: concurrencyPerInstance } }
      }
    }
    siteConfig: { minTlsVersion: '1.2', http20Enabled: true, ftpsState: 'Disabled' }
  }

  resource appSettings 'config' = {
    name: 'appsettings'
    properties: union(settings, identitySettings, ownSettings)
  }

  // Without these, a password that never expires could replace the code.
  resource ftp 'basicPublishingCredentialsPolicies' = {
    name: 'ftp'
    properties: { allow: false }
  }

  resource scm 'basicPublishingCredentialsPolicies' = {
    name: 'scm'
    properties: { allow: false }
  }

  resource auth 'config' = {
    name: 'authsettingsV2'
    properties: {
      platform: { enabled: authMode == 'easyauth' }
      globalValidation: {
        requireAuthentication: true
        unauthenticatedClientAction: 'Return401'
        // The page holds no data: it sends people to the sign-in.
        excludedPaths: ['/', '/assets/*', '/api/health']
      }
      identityProviders: {
        azureActiveDirectory: {
          enabled: true
          registration: {
            clientId: authClientId
            openIdIssuer: '${environment().authentication.loginEndpoint}${tenant().tenantId}/v2.0'
          }
          validation: { allowedAudiences: [authClientId, 'api://${authClientId}'] }
        }
      }
      login: { tokenStore: { enabled: false } }
    }
  }
}

output id string = app.id
output redirectUri string = 'https://${app.properties.defaultHostName}/.auth/login/aad/callback'
output url string = 'https://${app.properties.defaultHostName}/api'
