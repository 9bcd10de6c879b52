// Orc on Azure: everything that `azd provision` makes. Nothing here holds or hands out an account key.
targetScope = 'subscription'

@minLength(1)
@maxLength(32)
@description('Name of the azd environment; part of every name.')
param environmentName string

@minLength(1)
@description('Region of everything but the models.')
param location string

@description('Region of the models, if it differs: not every region has every model. Empty: the same.')
param modelLocation string = ''

@description('Application (client) id of the Entra app registration that people sign in with.')
param authClientId string

@description('The account that runs azd: may create the search index and call the models. Empty in a pipeline that has these roles already.')
param principalId string = ''

@description('Set by azd once it has deployed the tools server.')
param toolsExist bool = false

@allowed(['User', 'ServicePrincipal'])
param principalType string = 'User'

param chatModel string = 'gpt-5.1'
param chatModelVersion string = '2025-11-13'
@description('Thousands of tokens a minute.')
param chatCapacity int = 50
param embeddingModel string = 'text-embedding-3-small'
param embeddingModelVersion string = '1'
param embeddingCapacity int = 50

@description('Turns this old are removed; 0 keeps them.')
@minValue(0)
param retentionDays int = 0

@description('Requests that one instance of the API answers at a time. A turn mostly waits.')
@minValue(1)
param concurrencyPerInstance int = 16

@description('Instances of the API at most, and how many of them never sleep: after a pause, a first question waits seconds.')
@minValue(1)
param maximumInstances int = 40
@minValue(0)
param alwaysReadyInstances int = 0

@description('How an update replaces instances of the API: Recreate ends turns under way, RollingUpdate (a preview of Azure) does not.')
@allowed(['Recreate', 'RollingUpdate'])
param updateStrategy string = 'Recreate'

@description('Replicas of the tools server at least.')
@minValue(1)
param toolsReplicas int = 1

@description('The tier of AI Search. A replica serves more questions, a partition holds more documents.')
param searchSku string = 'basic'
param searchReplicas int = 1
param searchPartitions int = 1

@description('Copies of the documents: Standard_LRS in a building, Standard_ZRS in three, Standard_GRS in two regions.')
param storageSku string = 'Standard_LRS'

@description('A deleted vault, with the key in it, can then be removed by time only, after 90 days. It cannot be switched off.')
param purgeProtection bool = false

@description('Which endpoints only a private network reaches: none, those of the stores, models and tools server, or the API too.')
@allowed(['none', 'services', 'everything'])
param privateNetwork string = 'none'
@description('Addresses of that network, at least a /24.')
param networkAddresses string = '10.90.0.0/24'

@description('Who gets the alerts of docs/operations.md. Empty: there are none.')
param alertEmail string = ''
@description('A budget of the resource group, in the currency of the subscription. 0: none.')
@minValue(0)
param monthlyBudget int = 0
@description('The first day of the month in which the budget began; azd keeps it.')
param budgetStart string = ''
param firstOfMonth string = utcNow('yyyy-MM-01')

@secure()
@description('Further settings of both apps: a JSON object of names and texts, in base64.')
param appSettings string = base64('{}')

@description('Who signs people in: Azure in front of the app (easyauth), or the page itself (oidc).')
@allowed(['easyauth', 'oidc'])
param authMode string = 'easyauth'

@description('Web pages that may upload to the signed addresses that the API hands out, with commas in between.')
param uploadOrigins string = ''

@secure()
@description('Of Google Programmable Search, which takes no new customers and ends on 1 January 2027. Empty: not used.')
param googleSearchKey string = ''
param googleSearchEngine string = ''

@secure()
@description('Of the Brave Search API. Without a key the web is not searched.')
param braveSearchKey string = ''

@description('Set by azd after it has created the vault; the key in that vault is kept.')
param presentVault string = ''

@secure()
@description('Signs scopes, and leads names of sessions to their conversations. Used only where the vault has none yet.')
param scopeKey string = '${newGuid()}${newGuid()}'

var tags = { 'azd-env-name': environmentName }
var token = uniqueString(subscription().id, environmentName, location)
var isPrivate = privateNetwork != 'none'
var publicAccess = isPrivate ? 'Disabled' : 'Enabled'
var start = empty(budgetStart) ? firstOfMonth : budgetStart

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: 'rg-${environmentName}'
  location: location
  tags: tags
}

module identities 'modules/identities.bicep' = {
  scope: group
  params: { location: location, tags: tags, token: token }
}

module monitoring 'modules/monitoring.bicep' = {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    publishers: [identities.outputs.apiPrincipalId, identities.outputs.toolsPrincipalId]
  }
}

module network 'modules/network.bicep' = if (isPrivate) {
  scope: group
  params: { location: location, tags: tags, token: token, addresses: networkAddresses }
}

module vault 'modules/vault.bicep' = {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    presentVault: presentVault
    scopeKey: scopeKey
    readers: [identities.outputs.apiPrincipalId, identities.outputs.toolsPrincipalId]
    logAnalyticsId: monitoring.outputs.logAnalyticsId
    publicAccess: publicAccess
    purgeProtection: purgeProtection
  }
}

module storage 'modules/storage.bicep' = {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    apiPrincipalId: identities.outputs.apiPrincipalId
    toolsPrincipalId: identities.outputs.toolsPrincipalId
    publicAccess: publicAccess
    sku: storageSku
    uploadOrigins: empty(uploadOrigins) ? [] : split(uploadOrigins, ',')
  }
}

module cosmos 'modules/cosmos.bicep' = {
  scope: group
  params: {
    logAnalyticsId: monitoring.outputs.logAnalyticsId
    publicAccess: publicAccess
    location: location
    tags: tags
    token: token
    apiPrincipalId: identities.outputs.apiPrincipalId
    toolsPrincipalId: identities.outputs.toolsPrincipalId
  }
}

module search 'modules/search.bicep' = {
  scope: group
  params: {
    publicAccess: publicAccess
    sku: searchSku
    replicas: searchReplicas
    partitions: searchPartitions
    location: location
    tags: tags
    token: token
    apiPrincipalId: identities.outputs.apiPrincipalId
    toolsPrincipalId: identities.outputs.toolsPrincipalId
    deployerId: principalId
    deployerType: principalType
  }
}

module models 'modules/models.bicep' = {
  scope: group
  params: {
    logAnalyticsId: monitoring.outputs.logAnalyticsId
    publicAccess: publicAccess
    location: empty(modelLocation) ? location : modelLocation
    tags: tags
    token: token
    chatModel: chatModel
    chatModelVersion: chatModelVersion
    chatCapacity: chatCapacity
    embeddingModel: embeddingModel
    embeddingModelVersion: embeddingModelVersion
    embeddingCapacity: embeddingCapacity
    callers: [identities.outputs.apiPrincipalId, identities.outputs.toolsPrincipalId]
    deployerId: principalId
    deployerType: principalType
  }
}

module endpoints 'modules/private-endpoints.bicep' = if (isPrivate) {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    networkId: network!.outputs.id
    subnetId: network!.outputs.endpointsSubnet
    services: [
      { name: 'blobs', id: storage.outputs.id, group: 'blob' }
      { name: 'queues', id: storage.outputs.id, group: 'queue' }
      { name: 'host-blobs', id: storage.outputs.hostId, group: 'blob' }
      { name: 'host-tables', id: storage.outputs.hostId, group: 'table' }
      { name: 'cosmos', id: cosmos.outputs.id, group: 'Sql' }
      { name: 'search', id: search.outputs.id, group: 'searchService' }
      { name: 'models', id: models.outputs.id, group: 'account' }
      { name: 'vault', id: vault.outputs.id, group: 'vault' }
    ]
  }
}

module entrance 'modules/private-endpoints.bicep' = if (privateNetwork == 'everything') {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    networkId: network!.outputs.id
    subnetId: network!.outputs.endpointsSubnet
    services: [{ name: 'api', id: api.outputs.id, group: 'sites' }]
  }
}

module alerts 'modules/alerts.bicep' = {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    logAnalyticsId: monitoring.outputs.logAnalyticsId
    cosmosId: cosmos.outputs.id
    email: alertEmail
    monthlyBudget: monthlyBudget
    budgetStart: start
  }
}

// Settings of both apps. Their names are those of docs/configuration.md. What operators add or change is in
// appSettings: a provision replaces what was set in the portal.
var own = {
  AZURE_COSMOS_ENDPOINT: cosmos.outputs.endpoint
  AZURE_STORAGE_ACCOUNT_URL: storage.outputs.blobEndpoint
  AZURE_SEARCH_ENDPOINT: search.outputs.endpoint
  AZURE_OPENAI_ENDPOINT: models.outputs.endpoint
  ORC_CHAT_MODEL: chatModel
  ORC_EMBEDDING_MODEL: embeddingModel
  ORC_RESPONSES_API: 'true'
  ORC_TELEMETRY_EXPORTERS: 'azure'
  // Where to, and no secret: only identities may write there.
  APPLICATIONINSIGHTS_CONNECTION_STRING: monitoring.outputs.connectionString
}
var theirs = json(base64ToString(appSettings))
// A message per lease comes up while a long job goes on: fewer of them, for a longer wait after a crash.
var advanced = union({ ingestion_lease_seconds: 30 }, json(theirs.?ORC_ADVANCED ?? '{}'))
var shared = union(own, theirs, { ORC_ADVANCED: string(advanced) })
var retention = retentionDays == 0 ? {} : { ORC_RETENTION_DAYS: string(retentionDays) }

module present 'modules/present-image.bicep' = if (toolsExist) {
  scope: group
  params: { token: token }
}

module tools 'modules/tools.bicep' = {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    identityId: identities.outputs.toolsId
    identityClientId: identities.outputs.toolsClientId
    identityPrincipalId: identities.outputs.toolsPrincipalId
    logAnalyticsId: monitoring.outputs.logAnalyticsId
    networkId: isPrivate ? network!.outputs.id : ''
    subnetId: isPrivate ? network!.outputs.toolsSubnet : ''
    minimumReplicas: toolsReplicas
    scopeKeyUri: vault.outputs.scopeKeyUri
    settings: shared
    googleSearchKey: googleSearchKey
    googleSearchEngine: googleSearchEngine
    braveSearchKey: braveSearchKey
    image: toolsExist ? present!.outputs.image : ''
  }
  dependsOn: [endpoints] // it reads the vault when it starts
}

module api 'modules/api.bicep' = {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    identityId: identities.outputs.apiId
    identityClientId: identities.outputs.apiClientId
    hostStorageName: storage.outputs.hostName
    packageContainer: storage.outputs.packageContainer
    queueEndpoint: storage.outputs.queueEndpoint
    scopeKeyUri: vault.outputs.scopeKeyUri
    authClientId: authClientId
    authMode: authMode
    concurrencyPerInstance: concurrencyPerInstance
    maximumInstances: maximumInstances
    alwaysReadyInstances: alwaysReadyInstances
    updateStrategy: updateStrategy
    publicAccess: privateNetwork == 'everything' ? 'Disabled' : 'Enabled'
    subnetId: isPrivate ? network!.outputs.apiSubnet : ''
    settings: union(shared, retention, { MCP_SERVER_URL: '${tools.outputs.url}/mcp' })
  }
}

// azd keeps these in the environment: `orc provision` and `orc doctor` read them locally, the next
// deployment the vault's name.
output AZURE_COSMOS_ENDPOINT string = cosmos.outputs.endpoint
output AZURE_STORAGE_ACCOUNT_URL string = storage.outputs.blobEndpoint
output AZURE_SEARCH_ENDPOINT string = search.outputs.endpoint
output AZURE_OPENAI_ENDPOINT string = models.outputs.endpoint
// With their versions: the next deployment reads both, and a version fits one model only.
output ORC_CHAT_MODEL string = chatModel
output ORC_CHAT_MODEL_VERSION string = chatModelVersion
output ORC_EMBEDDING_MODEL string = embeddingModel
output ORC_EMBEDDING_MODEL_VERSION string = embeddingModelVersion
output MCP_SERVER_URL string = '${tools.outputs.url}/mcp'
output ORC_BUDGET_START string = monthlyBudget == 0 ? '' : start
output AZURE_KEY_VAULT_NAME string = vault.outputs.name
output AZURE_CONTAINER_REGISTRY_ENDPOINT string = tools.outputs.registry
output API_URL string = api.outputs.url
output AUTH_REDIRECT_URI string = api.outputs.redirectUri
