import { Agent, request } from 'node:http'

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
          else reject(new Error(`${method} ${path}: ${response.statusCode} ${answer}`))
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  return { call, close: () => agent.destroy() }
}
