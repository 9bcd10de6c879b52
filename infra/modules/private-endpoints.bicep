// Addresses in the network for services, and the names that lead to them there.
param location string
param tags object
param token string
param networkId string
param subnetId string

@description('Objects with a name, the id of the resource, and its group: the part of the resource that is reached.')
param services array

var zones = {
  blob: 'privatelink.blob.${environment().suffixes.storage}'
  queue: 'privatelink.queue.${environment().suffixes.storage}'
  table: 'privatelink.table.${environment().suffixes.storage}'
  Sql: 'privatelink.documents.azure.com'
  searchService: 'privatelink.search.windows.net'
  account: 'privatelink.openai.azure.com'
  vault: 'privatelink.vaultcore.azure.net'
  sites: 'privatelink.azurewebsites.net'
}
var groups = union(map(services, each => each.group), []) // each once

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' = [for group in groups: {
  name: zones[group]
  location: 'global'
  tags: tags
}]

resource link 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [for (group, place) in groups: {
  parent: zone[place]
  name: 'vnet-${token}'
  location: 'global'
  properties: { registrationEnabled: false, virtualNetwork: { id: networkId } }
}]

resource endpoint 'Microsoft.Network/privateEndpoints@2024-05-01' = [for each in services: {
  name: 'pe-${each.name}-${token}'
  location: location
  tags: tags
  properties: {
    subnet: { id: subnetId }
    privateLinkServiceConnections: [
      { name: each.name, properties: { privateLinkServiceId: each.id, groupIds: [each.group] } }
    ]
  }
}]

resource names 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-05-01' = [for (each, place) in services: {
  parent: endpoint[place]
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: each.group
        properties: { privateDnsZoneId: resourceId('Microsoft.Network/privateDnsZones', zones[each.group]) }
      }
    ]
  }
  dependsOn: [link]
}]
