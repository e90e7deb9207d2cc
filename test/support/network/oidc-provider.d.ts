/** The package has no types of its own; this is what the tests use. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Grant {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }

  interface Context {
    oidc: {
      session: { accountId: string; grantIdFor(client: string): string | undefined }
      provider: Provider
    }
  }

  export default class Provider {
    constructor(
      issuer: string,
      options: {
        interactions: { url: (context: Context, interaction: { uid: string }) => string }
        findAccount: (context: Context, id: string) => Promise<object>
        loadExistingGrant: (context: Context) => Promise<Grant>
        [option: string]: unknown
      },
    )
    Grant: {
      new (fields: { clientId: string; accountId: string }): Grant
      find(id: string): Promise<Grant | undefined>
    }
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
  }
}
