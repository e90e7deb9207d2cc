import { natively } from '../../../test/support/engines.ts'
import { type Dice, diceOf } from '../../fuzz/dice.ts'
import { ForbiddenPlace } from '../../fuzz/forbidden-place.ts'
import { mutatedText } from '../../fuzz/mutations.ts'
import { sandboxedStatements, savedStatements } from '../../fuzz/sample-statements.ts'
import { sqlGrammar } from '../../fuzz/sql-grammar.ts'
import { HttpClient, type HttpResponse } from '../../load/http-client.ts'
import { engineRestarts, isRunning, loadTarget } from '../../load/load-target.ts'
import { leakedProjects, projects, sandboxName, tenantsOf } from '../../load/tenants.ts'
import type { Scenario } from '../../support/scenario.ts'
import { adminToken } from '../../support/target.ts'

const callers = 4

/** Documented failures: a query over its limits, and an engine that is starting. */
const documented = [503, 504, 507]

export const fuzzSql: Scenario = {
  name: 'fuzz-sql',
  title: 'generated and mutated SQL runs or is refused, and reaches no other tenant, no file and no address',
  async run(run) {
    const target = await loadTarget(run)
    const { tokens } = await tenantsOf(target)
    const place = await ForbiddenPlace.open(run.directory)
    const http = new HttpClient(await target.url(), callers)
    const dice = diceOf(run.random)
    const before = await engineRestarts(target)
    const forbidden = place.reached
    const saved = statements(
      dice,
      savedStatements(),
      sqlGrammar({ dice, forbidden, tables: ['edge_logs', 'auth_logs'] }),
    )
    const sandboxed = statements(
      dice,
      sandboxedStatements(),
      sqlGrammar({ dice, forbidden, tables: ['entries'] }),
    )
    const counts = {
      statements: 0,
      checked: 0,
      previewed: 0,
      sandboxed: 0,
      saved: 0,
      called: 0,
      accepted: 0,
      refused: 0,
      stopped: 0,
    }
    const faults: string[] = []
    let left = run.cycles(natively(100_000, 2_000), 40)
    const total = left

    const record = (sql: string, { status, text }: HttpResponse, project?: string): boolean => {
      if (status < 300) counts.accepted++
      else if (status < 500) counts.refused++
      else counts.stopped++
      const details = `${JSON.stringify(sql)} returned ${status}: ${text.slice(0, 300)}`
      if (status === 0 || (status >= 500 && !documented.includes(status))) faults.push(details)
      if (text.includes(place.secret)) faults.push(`A file was read: ${details}`)
      if (project !== undefined && leakedProjects(text, project).length > 0)
        faults.push(`${project} saw other tenants: ${details}`)
      return status < 300
    }
    const admin = (path: string, body: object, method = 'POST') =>
      http.send({ method, path, token: adminToken, body: JSON.stringify(body) })

    const operations = [
      async (sql: string) => {
        counts.checked++
        record(sql, await admin('/api/endpoints/check', { query: sql }))
      },
      async (sql: string) => {
        counts.previewed++
        const endpoint = { query: sql, timeout_seconds: 2 }
        record(sql, await admin('/api/endpoints/preview', { endpoint, parameters: { project: 'tenant-a' } }))
      },
      async (sql: string, index: number) => {
        counts.saved++
        const name = `fuzzed.${index}`
        const definition = { name, query: sql, timeout_seconds: 2, published: true }
        if (!record(sql, await admin('/api/endpoints', definition))) return
        const project = dice.pick(projects)
        counts.called++
        const path = `/api/endpoints/query/${name}?a=1&b=x`
        record(sql, await http.send({ path, token: tokens.get(project) as string }), project)
        await http.send({ method: 'DELETE', path: `/api/endpoints/${name}`, token: adminToken })
      },
    ]
    const fuzzing = async (index: number) => {
      while (left-- > 0 && faults.length < 20) {
        counts.statements++
        if (counts.statements % 1000 === 0) run.say(`${counts.statements} of ${total} statements`)
        if (dice.percent(40)) {
          const sql = sandboxed()
          counts.sandboxed++
          const project = dice.pick(projects)
          const path = `/api/endpoints/query/${sandboxName}`
          const token = tokens.get(project) as string
          record(sql, await http.send({ path, token, body: JSON.stringify({ sql }) }), project)
        } else await dice.pick(operations)(saved(), index)
      }
    }
    await Promise.all(Array.from({ length: callers }, (_, index) => fuzzing(index)))
    http.close()
    faults.push(...place.faults())
    place.close()
    if (!isRunning(target)) return { counts, faults: [...faults, 'The service has ended.'] }
    const restarts = (await engineRestarts(target)) - before
    if (restarts > 0) faults.push(`The engine restarted ${restarts} times.`)
    return { counts: { ...counts, 'engine restarts': restarts }, faults }
  },
}

/** Half of them generated, half of them mutated from samples. */
function statements(dice: Dice, samples: readonly string[], generate: () => string): () => string {
  return () => {
    let sql = dice.percent(50) ? generate() : dice.pick(samples)
    for (let times = dice.percent(50) ? 0 : 1 + dice.below(2); times > 0; times--) {
      sql = dice.percent(50) ? spliced(sql, dice.pick(samples), dice) : mutatedText(sql, dice)
    }
    // Lone surrogates would be refused before the SQL is parsed.
    return sql.toWellFormed()
  }
}

/** The start of one and the end of another, cut between words. */
function spliced(one: string, other: string, dice: Dice): string {
  const [head, tail] = [one.split(' '), other.split(' ')]
  return [...head.slice(0, dice.below(head.length + 1)), ...tail.slice(dice.below(tail.length + 1))].join(' ')
}
