import { Agent, request } from 'node:http'

class UnexpectedStatus extends Error {
  constructor(call, status, body) {
    super(`${call}: ${status} ${body}`)
    this.status = status
  }
}

/** What a busy service does to requests that would wait too long. */
export const isRefused = (error) => error.status === 503

/** Calls over a bounded number of connections that are kept, as clients keep them. */
export function openClient({ url, token, connections }) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const call = (path, { method = 'GET', headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const options = { agent, method, headers: { 'X-API-KEY': token, ...headers } }
      const sent = request(url + path, options, (response) => {
        const chunks = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const answer = Buffer.concat(chunks)
          if (response.statusCode === 200 || response.statusCode === 201) resolve(answer)
          else reject(new UnexpectedStatus(`${method} ${path}`, response.statusCode, answer))
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  return { call, close: () => agent.destroy() }
}
