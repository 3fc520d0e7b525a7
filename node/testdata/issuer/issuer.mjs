// A real service of OpenID Connect for TestBrowserSignIn: oidc-provider, from npm, with keys of its own at each start.
// node issuer.mjs SETTINGS; the file is JSON and is read again at each request:
// {"port": 1, "redirect": "http://…", "groups": {"anna": ["archivists"]}, "nonce": "what an attacker puts in"}
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const { Provider } = await import(require.resolve("oidc-provider"));
const settings = () => JSON.parse(readFileSync(process.argv[2], "utf8"));
const { port, redirect } = settings();
const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: "holdfast", client_secret: "s3cret-of-the-client", redirect_uris: [redirect] }],
  jwks: { keys: [{ ...key, kid: randomUUID(), use: "sig", alg: "RS256" }] },
  cookies: { keys: [randomUUID()] },
  scopes: ["openid", "profile", "email", "groups"],
  claims: { openid: ["sub"], profile: ["name"], email: ["email", "email_verified"], groups: ["groups"] },
  pkce: { required: () => true },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: `${id} of the issuer`, email: `${id}@issuer.example`, email_verified: true,
      groups: settings().groups?.[id] ?? [] }),
  }),
});
provider.use(async (ctx, next) => {
  const { nonce } = settings();
  if (nonce && ctx.path === "/auth" && ctx.query.nonce) ctx.query = { ...ctx.query, nonce };
  await next();
});
createServer(provider.callback()).listen(port, "127.0.0.1", () => console.log("ready"));
