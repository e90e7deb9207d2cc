import { otelShapes } from '../../../test/journeys/supabase/otel-shapes.ts'
import { refused, shapes } from '../../../test/journeys/supabase/shapes.ts'
import { natively } from '../../../test/support/engines.ts'
import { bigQueryGrammar } from '../../fuzz/bigquery-grammar.ts'
import { diceOf } from '../../fuzz/dice.ts'
import { mutatedText } from '../../fuzz/mutations.ts'
import { HttpClient } from '../../load/http-client.ts'
import { engineRestarts, isRunning, loadTarget, logflareToken } from '../../load/load-target.ts'
import { leakedProjects, projects, tenantsOf } from '../../load/tenants.ts'
import type { Scenario } from '../../support/scenario.ts'

const callers = 4

/** In an entry of each project that is before the window of every request. */
const outside = 'an-entry-before-the-window'

/** What the service says if it failed for a reason that it does not know. */
const unknownFailure = /internal error|unexpected error/i

export const fuzzLogflare: Scenario = {
  name: 'fuzz-logflare',
  title:
    'generated and mutated BigQuery SQL runs or is refused, and reaches no row outside of window and project',
  async run(run) {
    const target = await loadTarget(run)
    await tenantsOf(target)
    const nowMs = Date.now()
    const old = projects.map((project) => ({ project, event_message: outside, timestamp: nowMs - 7_200_000 }))
    await target.json('/api/logs?source=edge_logs', { method: 'POST', body: JSON.stringify(old) })
    const http = new HttpClient(await target.url(), callers)
    const dice = diceOf(run.random)
    const before = await engineRestarts(target)
    const generate = bigQueryGrammar(dice)
    const samples = [...shapes(nowMs), ...otelShapes(nowMs)].map(({ sql }) => sql)
    samples.push(...refused.map(([sql]) => sql))
    const counts = { statements: 0, answered: 0, refused: 0 }
    const faults: string[] = []
    let left = run.cycles(natively(50_000, 1_000), 40)
    const statement = () => {
      let sql = dice.percent(60) ? generate() : dice.pick(samples)
      for (let times = dice.percent(60) ? 0 : 1 + dice.below(2); times > 0; times--)
        sql = mutatedText(sql, dice)
      return sql.toWellFormed()
    }
    const fuzzing = async () => {
      while (left-- > 0 && faults.length < 20) {
        const sql = statement()
        const project = dice.pick(projects)
        const parameters = { project, sql, iso_timestamp_start: new Date(nowMs - 3_600_000).toISOString() }
        const name = dice.percent(85) ? 'logs.all' : 'logs.all.otel'
        const path = `/logflare/api/endpoints/query/${name}?${new URLSearchParams(parameters)}`
        const { status, text } = await http.send({ path, token: logflareToken })
        counts.statements++
        const details = `${JSON.stringify(sql)} returned ${status}: ${text.slice(0, 300)}`
        const isResult = text.startsWith('{"result":[')
        const isError = text.startsWith('{"error":"')
        counts[isResult ? 'answered' : 'refused']++
        if (status !== 200 || isResult === isError || !isJson(text)) faults.push(details)
        if (isError && unknownFailure.test(text)) faults.push(`Failed inside: ${details}`)
        if (leakedProjects(text, project).length > 0) faults.push(`${project} saw other projects: ${details}`)
        if (isResult && text.includes(outside) && !sql.includes(outside))
          faults.push(`Outside of the window: ${details}`)
      }
    }
    await Promise.all(Array.from({ length: callers }, fuzzing))
    http.close()
    if (!isRunning(target)) return { counts, faults: [...faults, 'The service has ended.'] }
    const restarts = (await engineRestarts(target)) - before
    if (restarts > 0) faults.push(`The engine restarted ${restarts} times.`)
    return { counts: { ...counts, 'engine restarts': restarts }, faults }
  },
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
