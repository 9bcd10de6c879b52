// A certified OpenID provider with its own pages. People sign in as "user@organization", with any password.
// Takes one argument: an object with the private `key` (a JWK) and the `origins` of the pages that are its clients.
// Prints its address.
import { createServer } from "node:http";
import Provider from "oidc-provider";

process.stdin.on("end", () => process.exit()).resume();
const { key, origins } = JSON.parse(process.argv[2]);
const CLIENT = { client_id: "orc", client_secret: "a secret/with+signs~", grant_types: ["authorization_code"] };

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    jwks: { keys: [key] },
    cookies: { keys: ["only for tests"] },
    clients: [
      {
        ...CLIENT,
        redirect_uris: origins.map((each) => `${each}/api/sign-in/callback`),
        post_logout_redirect_uris: origins.map((each) => `${each}/`),
      },
      { ...CLIENT, client_id: "other", redirect_uris: origins.map((each) => `${each}/api/sign-in/callback`) },
      { ...CLIENT, client_id: "robot", grant_types: ["client_credentials"], redirect_uris: [], response_types: [] },
    ],
    claims: { openid: ["sub", "org", "roles", "groups"], profile: ["name"] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => {
        const [user, org] = id.split("@");
        return { sub: id, org, name: user[0].toUpperCase() + user.slice(1), roles: ["reader"], groups: ["staff"] };
      },
    }),
    // No person is asked whether Orc may know the name.
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope("openid profile email offline_access");
      for (const each of [oidc.params.resource ?? []].flat()) grant.addResourceScope(each, "ask");
      await grant.save();
      return grant;
    },
    extraTokenClaims: (_, { accountId }) => ({ org: accountId?.split("@")[1] ?? "acme" }),
    features: {
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, audience) => ({ scope: "ask", audience, accessTokenFormat: "jwt" }),
      },
    },
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
