/**
 * Prints the types that openapi-typescript generates from the document on standard input. It needs the API of an older
 * TypeScript, which it gets under the name that it imports.
 */
import { register } from 'node:module'
import { text } from 'node:stream/consumers'

/** Required, because to import a file of nine megabytes of CommonJS, Node reads it three times. */
const older = `
  import { createRequire } from 'node:module'
  export default createRequire(${JSON.stringify(import.meta.url)})('typescript-for-openapi')
`
const dataUrl = (code) => `data:text/javascript,${encodeURIComponent(code)}`
const redirect = `
  export const resolve = (name, context, next) =>
    name === 'typescript' ? { url: ${JSON.stringify(dataUrl(older))}, shortCircuit: true } : next(name, context)
`
register(dataUrl(redirect))

const { default: openapiTS, astToString } = await import('openapi-typescript')
process.stdout.write(astToString(await openapiTS(await text(process.stdin))))
