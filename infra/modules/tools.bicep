// The tools server on Container Apps. Every call carries a signed scope; without one it answers 401.
param location string
param tags object
param token string
param identityId string
param identityClientId string
param identityPrincipalId string
param logAnalyticsId string
param networkId string
param subnetId string
param scopeKeyUri string
@secure()
param settings object
param googleSearchEngine string
param minimumReplicas int

@secure()
param googleSearchKey string

@secure()
param braveSearchKey string

@description('The image that azd deployed; empty before it has.')
param image string

var port = 8080
var name = 'ca-tools-${token}'
// What searches the web, where there is a key; without one the tool is not offered. A secret may not be empty.
var google = empty(googleSearchKey) ? [] : [{ name: 'google-search-key', value: googleSearchKey }]
var brave = empty(braveSearchKey) ? [] : [{ name: 'brave-search-key', value: braveSearchKey }]
var googleSettings = [
  { name: 'GOOGLE_SEARCH_KEY', secretRef: 'google-search-key' }
  { name: 'GOOGLE_SEARCH_ENGINE', value: googleSearchEngine }
]
var braveSettings = [{ name: 'BRAVE_SEARCH_KEY', secretRef: 'brave-search-key' }]
var acrPull = '7f951dda-4ed3-4680-a7ca-43fe172d538d'

resource registry 'Microsoft.ContainerRegistry/registries@2023-07-01' = {
  name: 'cr${token}'
  location: location
  tags: tags
  sku: { name: 'Basic' }
  properties: { adminUserEnabled: false }
}

resource pull 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(registry.id, identityPrincipalId, acrPull)
  scope: registry
  properties: {
    principalId: identityPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', acrPull)
  }
}

resource environment 'Microsoft.App/managedEnvironments@2024-03-01' = {
  name: 'cae-${token}'
  location: location
  tags: tags
  properties: {
    appLogsConfiguration: { destination: 'azure-monitor' }
    // In a network, "external" ingress is reached from that network only.
    vnetConfiguration: empty(subnetId) ? null : { internal: true, infrastructureSubnetId: subnetId }
    workloadProfiles: empty(subnetId) ? null : [{ name: 'Consumption', workloadProfileType: 'Consumption' }]
  }
}

resource toLogs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'logs'
  scope: environment
  properties: {
    workspaceId: logAnalyticsId
    logs: [{ categoryGroup: 'allLogs', enabled: true }]
  }
}

module domain 'private-domain.bicep' = if (!empty(subnetId)) {
  params: {
    tags: tags
    token: token
    networkId: networkId
    domain: environment.properties.defaultDomain
    address: environment.properties.staticIp
  }
}

resource app 'Microsoft.App/containerApps@2024-03-01' = {
  name: name
  location: location
  tags: union(tags, { 'azd-service-name': 'tools' })
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    managedEnvironmentId: environment.id
    configuration: {
      ingress: { external: true, targetPort: port, transport: 'http', allowInsecure: false }
      registries: [{ server: registry.properties.loginServer, identity: identityId }]
      secrets: concat([{ name: 'scope-key', keyVaultUrl: scopeKeyUri, identity: identityId }], google, brave)
    }
    template: {
      containers: [
        {
          name: 'tools'
          // The placeholder listens on the same port, so the first revision becomes active.
          image: empty(image) ? 'mcr.microsoft.com/dotnet/samples:aspnetapp' : image
          resources: { cpu: json('1.0'), memory: '2Gi' }
          env: concat(
            map(items(settings), setting => { name: setting.key, value: setting.value }),
            [
              { name: 'AZURE_CLIENT_ID', value: identityClientId }
              { name: 'APPLICATIONINSIGHTS_AUTHENTICATION_STRING', value: 'ClientId=${identityClientId};Authorization=AAD' }
              { name: 'ORC_MCP_PUBLIC_URL', value: 'https://${name}.${environment.properties.defaultDomain}/mcp' }
              { name: 'ORC_SCOPE_SIGNING_KEY', secretRef: 'scope-key' }
            ],
            empty(google) ? [] : googleSettings,
            empty(brave) ? [] : braveSettings
          )
          // The placeholder of the first deployment does not use these.
          probes: empty(image) ? [] : [
            { type: 'Readiness', httpGet: { path: '/health', port: port }, periodSeconds: 5, timeoutSeconds: 5 }
            // A store that is down is no reason to restart.
            { type: 'Liveness', httpGet: { path: '/live', port: port }, periodSeconds: 10, failureThreshold: 3 }
          ]
        }
      ]
      scale: {
        minReplicas: minimumReplicas
        maxReplicas: 10
        rules: [{ name: 'calls', http: { metadata: { concurrentRequests: '20' } } }]
      }
    }
  }
  dependsOn: [pull]
}

output url string = 'https://${app.properties.configuration.ingress.fqdn}'
output registry string = registry.properties.loginServer
