import { natively } from '../../test/support/engines.ts'
import { diceOf } from '../fuzz/dice.ts'
import { HttpClient } from '../load/http-client.ts'
import { loadTarget, logflareToken } from '../load/load-target.ts'
import { studioQuestion } from '../studio/corpus.ts'
import { studioEntries } from '../studio/entries.ts'
import { faultOf } from '../studio/question.ts'
import type { Scenario } from '../support/scenario.ts'

const callers = 3
const maxFaults = 10

/** Names of views and of what Studio selects. */
const sources = ['logs', 'path', 'count', 'level', 'timestamp', 'error']

/** More would be refused while the machine is busy. */
const busy = /waited too long|Too many queries|not available at the moment/

export const studio: Scenario = {
  name: 'studio',
  title:
    "queries of the kinds that Supabase's Studio generates return the rows of the entries that were sent",
  async run(run) {
    const target = await loadTarget(run)
    for (const name of sources) {
      const headers = { 'Content-Type': 'application/json' }
      const { status } = await target.call('/api/sources', {
        method: 'POST',
        headers,
        body: JSON.stringify({ name }),
      })
      if (status !== 201 && status !== 409) throw new Error(`Creating the source ${name} returned ${status}.`)
    }
    const http = new HttpClient(await target.url(), callers)
    const dice = diceOf(run.random)
    const project = `studio-${run.seed}`
    const perTable = run.size(120, 60)
    const { entries, batches } = studioEntries(dice, project, Date.now() - 3_000_000, perTable)
    for (const { source, events } of batches) {
      const path = `/api/logs?source_name=${source}`
      const { text } = await http.send({ path, token: logflareToken, body: JSON.stringify(events) })
      if (!text.includes(`"accepted":${perTable},"rejected":0`))
        throw new Error(`${source}: ${text.slice(0, 500)}`)
    }
    const counts = { queries: 0, rows: 0, 'not served': 0 }
    const faults: string[] = []
    // The short form sends one query of each kind. With the usual seed, 300 have every kind.
    const isShort = run.size(0, 1) === 1
    const sent = new Set<string>()
    let left = run.cycles(natively(10_000, 300), natively(300, 40))
    const asking = async () => {
      while (left-- > 0 && faults.length < maxFaults) {
        const question = studioQuestion(dice, entries, project)
        const { name, endpoint, sql, window, expected } = question
        if (isShort && sent.has(name)) continue
        sent.add(name)
        const search = new URLSearchParams({ project, sql, ...window })
        const path = `/api/endpoints/query/${endpoint}?${search}`
        const { status, text } = await http.send({ path, token: logflareToken })
        if (busy.test(text)) {
          counts['not served']++
          continue
        }
        counts.queries++
        if ('rows' in expected) counts.rows += expected.rows.length
        const fault = faultOf(question, status, text)
        if (fault !== undefined) faults.push(`${name}: ${fault}; ${JSON.stringify({ ...window, sql })}`)
      }
    }
    await Promise.all(Array.from({ length: callers }, asking))
    http.close()
    if (counts.queries < counts['not served']) faults.push('Most queries were not served.')
    return { counts, faults }
  },
}
