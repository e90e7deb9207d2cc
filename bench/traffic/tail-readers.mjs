/**
 * Readers of a source in a process of their own: in the service's they would take the time that they measure. Each
 * entry carries the time at which it was given to the service; of each piece of a stream the last one counts.
 */
import { get } from 'node:http'

const entryMark = Buffer.from('event: entry\n')
const missedMark = Buffer.from('event: missed\n')
const sentMark = Buffer.from('"sent_at":')
const maxLags = 200_000

let readers = []
let figures

const answers = {
  open: ({ url, token, queries }) =>
    Promise.all(
      queries.map(
        (query) =>
          new Promise((resolve, reject) => {
            const request = get(
              `${url}${query}`,
              { agent: false, headers: { 'X-API-KEY': token } },
              (response) => {
                if (response.statusCode !== 200) return reject(new Error(`status ${response.statusCode}`))
                response.on('data', read).on('error', () => {})
                resolve()
              },
            )
            request.on('error', reject)
            readers.push(request)
          }),
      ),
    ).then(() => ({ readers: readers.length })),
  begin: () => {
    figures = { entries: 0, missed: 0, bytes: 0, lags: [] }
    return {}
  },
  end: () => figures,
  close: () => {
    for (const reader of readers) reader.destroy()
    readers = []
    return {}
  },
}

function read(chunk) {
  if (!figures) return
  figures.bytes += chunk.length
  figures.entries += countOf(chunk, entryMark)
  figures.missed += countOf(chunk, missedMark)
  const at = chunk.lastIndexOf(sentMark)
  if (at < 0 || figures.lags.length >= maxLags) return
  const sentAt = Number.parseFloat(chunk.toString('latin1', at + sentMark.length, at + sentMark.length + 20))
  // A number that the piece ends in may be half of one.
  if (at + sentMark.length + 20 < chunk.length) figures.lags.push(Date.now() - sentAt)
}

function countOf(chunk, mark) {
  let count = 0
  for (let at = chunk.indexOf(mark); at >= 0; at = chunk.indexOf(mark, at + mark.length)) count++
  return count
}

process.on('message', async ({ type, ...options }) => {
  process.send(await answers[type](options))
})
