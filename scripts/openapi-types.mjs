/**
 * Prints the types that openapi-typescript generates from the document on standard input. It needs the API of an older
 * TypeScript, which it gets under the name that it imports.
 */
import { register } from 'node:module'
import { text } from 'node:stream/consumers'

const redirect =
  'export const resolve = (name, context, next) => next(name === "typescript" ? "typescript-for-openapi" : name, context)'
register(`data:text/javascript,${encodeURIComponent(redirect)}`)

const { default: openapiTS, astToString } = await import('openapi-typescript')
process.stdout.write(astToString(await openapiTS(await text(process.stdin))))
