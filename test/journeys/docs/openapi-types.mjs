/**
 * Prints the types that openapi-typescript makes of the document on standard input. It needs the interface of an
 * older compiler than the one that builds Wellhead, so it gets that one under the name that it asks for.
 */
import { register } from 'node:module'
import { text } from 'node:stream/consumers'

const redirect =
  'export const resolve = (name, context, next) => next(name === "typescript" ? "typescript-for-openapi" : name, context)'
register(`data:text/javascript,${encodeURIComponent(redirect)}`)

const { default: openapiTS, astToString } = await import('openapi-typescript')
process.stdout.write(astToString(await openapiTS(await text(process.stdin))))
