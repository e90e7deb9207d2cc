/**
 * Prints the types that openapi-typescript makes from the document on standard input. openapi-typescript needs the API of
 * an older compiler than the one that builds Wellhead, so imports of "typescript" are redirected to that one.
 */
import { register } from 'node:module'
import { text } from 'node:stream/consumers'

const redirect =
  'export const resolve = (name, context, next) => next(name === "typescript" ? "typescript-for-openapi" : name, context)'
register(`data:text/javascript,${encodeURIComponent(redirect)}`)

const { default: openapiTS, astToString } = await import('openapi-typescript')
process.stdout.write(astToString(await openapiTS(await text(process.stdin))))
