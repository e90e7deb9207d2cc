import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import type { LookupFunction } from 'node:net'
import { type Address, type Lookup, readTargetUrl, resolveTarget } from './target-address.ts'

export interface PostOptions {
  allowedHosts: readonly string[]
  lookup?: Lookup | undefined
  timeoutMs: number
  signal: AbortSignal
}

export interface PostResponse {
  status: number
  /** The beginning of the body. */
  text: string
}

const maxResponseBytes = 1000

/** Sends JSON to a target. Redirects are not followed, and the connection goes to an address that was checked. */
export async function postJson(
  target: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  { allowedHosts, lookup, timeoutMs, signal }: PostOptions,
): Promise<PostResponse> {
  const url = readTargetUrl(target)
  const ended = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  const addresses = await resolveTarget(url, allowedHosts, lookup)
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestTls : requestPlain
    const request = send(url, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
      lookup: checkedLookup(addresses),
      agent: false,
      signal: ended,
    })
    request.on('error', reject)
    request.on('response', (response) => {
      const status = response.statusCode ?? 0
      const chunks: Buffer[] = []
      let bytes = 0
      const finish = () => {
        resolve({ status, text: Buffer.concat(chunks).subarray(0, maxResponseBytes).toString() })
        response.destroy()
      }
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes >= maxResponseBytes) finish()
      })
      response.on('end', finish)
      response.on('error', reject)
    })
    request.end(body)
  })
}

/** Does not resolve the name again: it could have another address by now. */
function checkedLookup(addresses: readonly Address[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses as [Address]
    if (options.all) callback(null, [...addresses])
    else callback(null, first.address, first.family)
  }
}
