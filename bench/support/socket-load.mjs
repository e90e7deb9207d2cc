/** GET requests over sockets that are kept, each sent when the one before it is answered: it costs less than an HTTP client. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

const headEnd = '\r\n\r\n'
/** A client that is refused comes back later. */
const pauseMs = 50

/** Latencies in ms of the requests that are served in so many seconds. `pathOf` gets the number of the request. */
export async function loadSockets({ url, token, connections, seconds, pathOf }) {
  const { hostname, port } = new URL(url)
  const endMs = performance.now() + seconds * 1000
  const times = []
  let [sent, refused] = [0, 0]
  const run = async () => {
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.setNoDelay(true)
    try {
      while (performance.now() < endMs) {
        const since = performance.now()
        socket.write(`GET ${pathOf(sent++)} HTTP/1.1\r\nHost: ${hostname}\r\nX-API-KEY: ${token}${headEnd}`)
        if (await isServed(socket)) times.push(performance.now() - since)
        else {
          refused++
          await delay(pauseMs)
        }
      }
    } finally {
      socket.destroy()
    }
  }
  const began = performance.now()
  await Promise.all(Array.from({ length: connections }, run))
  return { times, refused, perSecond: (1000 * times.length) / (performance.now() - began) }
}

/** Whether a request is served and not refused because of too many others. The response must have a length. */
function isServed(socket) {
  return new Promise((resolve, reject) => {
    let text = ''
    const end = (settle, value) => {
      socket.off('data', onData).off('close', onClose).off('error', reject)
      settle(value)
    }
    const onClose = () => end(reject, new Error(`The connection was closed: ${text}`))
    const onData = (chunk) => {
      text += chunk.toString('latin1')
      const head = text.indexOf(headEnd)
      if (head < 0) return
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1])
      const status = Number(text.slice(9, 12))
      if ((status !== 200 && status !== 503) || Number.isNaN(length)) end(reject, new Error(text))
      else if (text.length >= head + headEnd.length + length) end(resolve, status === 200)
    }
    socket.on('data', onData).once('close', onClose).once('error', reject)
  })
}
