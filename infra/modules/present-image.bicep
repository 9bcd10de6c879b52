// The image that the tools server runs now, so that providing again does not take it away.
param token string

resource app 'Microsoft.App/containerApps@2024-03-01' existing = {
  name: 'ca-tools-${token}'
}

output image string = app.properties.template.containers[0].image
