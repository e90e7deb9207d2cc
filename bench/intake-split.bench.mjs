/**
 * How to divide the parsing of entries between Node and the engine. Node's part is measured as CPU time of this process,
 * the engine's part as the time of an insert, in alternating rounds.
 *
 * BENCH_ROUNDS: measurements of each form.
 */
import { randomUUID } from 'node:crypto'
import { median, numberFrom } from './support/figures.mjs'
import { command, createEdgeTable, partsOf } from './support/measured-tables.mjs'
import { cpuMs } from './support/processes.mjs'
import { comparison } from './support/result.mjs'
import { alternate } from './support/rounds.mjs'
import { openService } from './support/service.mjs'
import { engineForms, nodeForms } from './traffic/intake-forms.mjs'
import { createLogs, engineColumns } from './traffic/realistic-logs.mjs'

const seed = 20_260_101
const batch = 1_000
const shapes = ['lean', 'full']

export const about = 'parsing entries in Node or in the engine'

export async function run({ engineNode, patience, choose }) {
  const rounds = numberFrom('BENCH_ROUNDS', choose({ full: 11, quick: 5, emulated: 7 }))
  const nowMs = Date.now()
  const batches = shapes.map((shape) => {
    const logs = createLogs(seed)
    return {
      shape,
      entries: Array.from({ length: batch }, (_, index) => logs.edge(nowMs * 1000 + index, shape)),
    }
  })
  const inNode = []
  for (const one of batches) inNode.push(...(await measureNode(one, rounds, nowMs)))
  return {
    tables: [
      {
        id: 'node',
        title: 'Node: from the request body to the input of the engine',
        compares: `CPU time for ${batch} entries; the ratio is to the first row.`,
        engine: 'no part',
        first: 'who does what',
        rows: inNode,
      },
      {
        id: 'engine',
        title: 'Engine: an insert, by input format',
        compares: `Time of an insert of ${batch} entries; the ratio is to the first row.`,
        first: 'form',
        rows: await measureEngine(batches, rounds, { engineNode, patience }),
      },
    ],
  }
}

/** Compares each result with the first. */
function overFirst(results, { shape, unit, more }) {
  const first = Object.values(results)[0]
  return Object.entries(results).map(([name, values]) => {
    const row = comparison({ name: `${shape}: ${name}`, unit, sides: { 'this way': values, first } })
    return { ...row, sides: { 'this way': row.sides['this way'] }, more: more(name, values) }
  })
}

async function measureNode({ shape, entries }, rounds, nowMs) {
  const body = Buffer.from(JSON.stringify(entries))
  const microsOf = (work) => () => {
    const before = process.cpuUsage()
    for (let i = 0; i < 4; i++) work(body, nowMs)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 4 / entries.length
  }
  const sides = Object.fromEntries(Object.entries(nodeForms).map(([name, work]) => [name, microsOf(work)]))
  // The first rounds let V8 compile the code.
  await alternate(sides, 9)
  const results = await alternate(sides, rounds)
  const bytes = body.length / entries.length
  const more = (_name, micros) => ({
    'bytes an entry': Math.round(bytes),
    'entries/s': Math.round(1e6 / median(micros)),
    'MB/s': Math.round(bytes / median(micros)),
  })
  return overFirst(results, { shape, unit: 'µs an entry', more })
}

async function measureEngine(batches, rounds, { engineNode, patience }) {
  const service = await openService({ engineNode, patience })
  const { engine } = service
  const rows = []
  try {
    for (const { shape, entries } of batches) {
      const name = await createEdgeTable(engine, 'bench_forms')
      // Merges would run during the measurement of the next form.
      await command(engine, `SYSTEM STOP MERGES ${name}`)
      const forms = engineForms.map((form) => ({ ...form, rows: form.rowsOf(entries), cpuMs: 0 }))
      const timed = (form) => async (round) => {
        const [since, cpuBefore] = [performance.now(), cpuMs(engine.pid)]
        await insert(engine, name, form, 60_000 * patience)
        if (round > 0) form.cpuMs += cpuMs(engine.pid) - cpuBefore
        return performance.now() - since
      }
      const results = await alternate(
        Object.fromEntries(forms.map((form) => [form.name, timed(form)])),
        rounds,
      )
      const { rows: stored } = await partsOf(engine, name)
      const expected = entries.length * forms.length * (rounds + 1)
      if (stored !== expected) throw new Error(`${stored} rows are stored, but ${expected} were inserted.`)
      await command(engine, `DROP TABLE ${name}`)
      const more = (formName) => {
        const form = forms.find((one) => one.name === formName)
        return {
          'bytes an entry': Math.round(form.rows.length / entries.length),
          'CPU ms an insert': form.cpuMs / rounds,
        }
      }
      rows.push(...overFirst(results, { shape, unit: 'ms', more }))
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
      insert_deduplication_token: randomUUID(),
      max_partitions_per_insert_block: 0,
      ...settings,
    },
  }
  return engine.insert(target, rows, { deadlineMs })
}
