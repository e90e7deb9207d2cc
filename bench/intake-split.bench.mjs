/**
 * Who should do what on the way of an entry: Node or the engine's own parser. Node's part is measured as CPU time
 * of this process; the engine's part as time of an insert, each form in turn, in alternating rounds.
 *
 * BENCH_ROUNDS: how often each form is measured.
 */
import { randomUUID } from 'node:crypto'
import { faithfulJson } from '../dist/ingest/log-intake.js'
import { median, numberFrom, table } from './support/figures.mjs'
import { engineForms, nodeForms } from './support/intake-forms.mjs'
import { command, createEdgeTable, partsOf } from './support/measured-tables.mjs'
import { cpuMs } from './support/processes.mjs'
import { createLogs, engineColumns } from './support/realistic-logs.mjs'
import { openService } from './support/service.mjs'

const seed = 20_260_101
const batch = 1_000
const shapes = ['lean', 'full']

export async function run({ engineNode, patience, quick }) {
  const rounds = numberFrom('BENCH_ROUNDS', quick ? 5 : 21)
  const nowMs = Date.now()
  const batches = shapes.map((shape) => {
    const logs = createLogs(seed)
    return {
      shape,
      entries: Array.from({ length: batch }, (_, index) => logs.edge(nowMs * 1000 + index, shape)),
    }
  })
  const inNode = batches.flatMap(({ entries }) => measureNode(entries, rounds, nowMs))
  const inEngine = await measureEngine(batches, rounds, { engineNode, patience })
  return [
    table(`Node: from the body of a request to what the engine is given, ${batch} entries`, inNode),
    table(`Engine: an insert of ${batch} entries, by the form in which it is given them`, inEngine),
  ].join('\n\n')
}

function measureNode(entries, rounds, nowMs) {
  const body = Buffer.from(JSON.stringify(entries))
  const micros = new Map(Object.keys(nodeForms).map((name) => [name, []]))
  // The first rounds are for the compiler.
  for (let round = -10; round < rounds; round++) {
    for (const [name, work] of Object.entries(nodeForms)) {
      const before = process.cpuUsage()
      for (let i = 0; i < 4; i++) work(body, nowMs)
      const { user, system } = process.cpuUsage(before)
      if (round >= 0) micros.get(name).push((user + system) / 4)
    }
  }
  const first = median(micros.values().next().value)
  return [...micros].map(([name, times]) => ({
    'bytes an entry': Math.round(body.length / entries.length),
    'who does what': name,
    'µs an entry': (median(times) / entries.length).toFixed(1),
    'entries/s': Math.round((1e6 * entries.length) / median(times)),
    'MB/s': (body.length / median(times)).toFixed(0),
    'of the first': (median(times) / first).toFixed(2),
  }))
}

async function measureEngine(batches, rounds, { engineNode, patience }) {
  const service = await openService({ engineNode, patience })
  const rows = []
  try {
    for (const { entries } of batches) {
      const name = await createEdgeTable(service.engine, 'bench_forms')
      // They would run in the time of whichever form comes next.
      await command(service.engine, `SYSTEM STOP MERGES ${name}`)
      const forms = engineForms.map((form) => ({ ...form, rows: form.rowsOf(entries), times: [], cpuMs: 0 }))
      for (let round = -1; round < rounds; round++) {
        for (const form of round % 2 === 0 ? forms : forms.toReversed()) {
          const [since, cpuBefore] = [performance.now(), cpuMs(service.engine.pid)]
          await insert(service.engine, name, form, 60_000 * patience)
          if (round < 0) continue
          form.times.push(performance.now() - since)
          form.cpuMs += cpuMs(service.engine.pid) - cpuBefore
        }
      }
      const { rows: stored } = await partsOf(service.engine, name)
      const expected = entries.length * forms.length * (rounds + 1)
      if (stored !== expected) throw new Error(`${stored} rows are stored; ${expected} were inserted.`)
      await command(service.engine, `DROP TABLE ${name}`)
      for (const form of forms) {
        rows.push({
          'bytes an entry': Math.round(form.rows.length / entries.length),
          form: form.name,
          'ms an insert': median(form.times).toFixed(1),
          'of the first': (median(form.times) / median(forms[0].times)).toFixed(2),
          'CPU ms an insert': (form.cpuMs / rounds).toFixed(0),
          'CPU of the first': (form.cpuMs / forms[0].cpuMs).toFixed(2),
        })
      }
    }
  } finally {
    await service.close()
  }
  return rows
}

function insert(engine, into, { format, rows, settings }, deadlineMs) {
  const target = {
    table: into,
    columns: engineColumns,
    format,
    settings: {
      ...faithfulJson,
      insert_deduplication_token: randomUUID(),
      max_partitions_per_insert_block: 0,
      ...settings,
    },
  }
  return engine.insert(target, rows, { deadlineMs })
}
