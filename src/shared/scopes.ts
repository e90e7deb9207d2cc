/** What tokens may be allowed to do, in the order of the documentation. After a colon, a scope names one endpoint, dashboard or source. */
export const scopeForms = [
  'admin',
  'deploy',
  'edit',
  'read',
  'query',
  'query:<endpoint>',
  'dashboard:<name>',
  'search',
  'search:<source>',
  'ingest',
  'ingest:<source>',
] as const

/** For people: "admin, deploy, … or ingest:<source>". */
export const scopeList = `${scopeForms.slice(0, -1).join(', ')} or ${scopeForms.at(-1)}`

/** A scope, optionally limited to one endpoint, dashboard or source: `query:logs.all`. */
export const scopePattern =
  /^(?:admin|deploy|edit|read|search|query|ingest|(?:query|search|ingest|dashboard):[A-Za-z][A-Za-z0-9._-]{0,127})$/

/** The scope of a page with endpoints, which it allows to call as the page does. */
export const pageScope = 'dashboard'

/** Description of the scopes, for the API. */
export const scopesText =
  '`admin`; `edit` to read everything and change definitions other than sources; `deploy` to create and change sources, too; `read` to read everything; `query` or `query:<endpoint>` to call endpoints; `dashboard:<name>` to open a dashboard; `search` or `search:<source>` to read whole entries, with a project those of published sources; `ingest` or `ingest:<source>` to send them.'
