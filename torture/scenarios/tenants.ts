import { natively } from '../../test/support/engines.ts'
import { diceOf } from '../fuzz/dice.ts'
import { HttpClient } from '../load/http-client.ts'
import { engineRestarts, loadTarget } from '../load/load-target.ts'
import { foreignRows, leakedProjects, projects, tenantsOf } from '../load/tenants.ts'
import type { Scenario } from '../support/scenario.ts'

const callers = 12

/** Percentage of requests that fail in each way. */
const trouble = { failing: 12, slow: 2, leaving: 6 } as const

export const tenants: Scenario = {
  name: 'tenants',
  title: 'every row belongs to its tenant while concurrent queries fail, time out or are abandoned',
  async run(run) {
    const target = await loadTarget(run)
    const { tokens, paths } = await tenantsOf(target)
    const http = new HttpClient(await target.url(), callers)
    const dice = diceOf(run.random)
    const before = await engineRestarts(target)
    const counts = {
      queries: 0,
      succeeded: 0,
      failed: 0,
      'timed out': 0,
      abandoned: 0,
      refused: 0,
      'foreign rows': 0,
    }
    const faults: string[] = []
    let left = run.cycles(natively(1_000_000, 3_000), 20)
    const total = left
    const caller = async () => {
      while (left-- > 0 && faults.length < 10) {
        const project = dice.pick(projects)
        const roll = dice.below(100)
        const failing = roll < trouble.failing
        const slow = !failing && roll < trouble.failing + trouble.slow
        const leaving = roll >= 100 - trouble.leaving
        const path = failing
          ? '/api/endpoints/query/torture.failing'
          : slow
            ? '/api/endpoints/query/torture.slow'
            : dice.pick(paths)
        const gone = new AbortController()
        const timer = leaving ? setTimeout(() => gone.abort(), dice.below(natively(5, 100))) : undefined
        const token = tokens.get(project) as string
        const { status, text } = await http.send({ path, token, signal: gone.signal })
        clearTimeout(timer)
        counts.queries++
        if (counts.queries % 10_000 === 0) run.say(`${counts.queries} of ${total} queries`)
        const expected = failing ? [422] : slow ? [504] : [200]
        if (status === 0 && leaving) counts.abandoned++
        // The query waited too long for its turn, which says nothing about the rows of others.
        else if (status === 503 && text.includes('"overloaded"')) counts.refused++
        else if (!expected.includes(status)) {
          faults.push(`${project}: ${path} returned ${status}: ${text.slice(0, 300)}`)
        } else if (failing) counts.failed++
        else if (slow) counts['timed out']++
        else counts.succeeded++
        const leaked = leakedProjects(text, project)
        const rows = status === 200 ? foreignRows(text, project) : 0
        counts['foreign rows'] += rows
        if (leaked.length > 0 || rows > 0) {
          faults.push(`${project} was shown ${leaked.join(', ')} by ${path}: ${text.slice(0, 300)}`)
        }
      }
    }
    await Promise.all(Array.from({ length: callers }, caller))
    http.close()
    const restarts = (await engineRestarts(target)) - before
    if (restarts > 0) faults.push(`The engine restarted ${restarts} times.`)
    return { counts: { ...counts, 'engine restarts': restarts }, faults }
  },
}
