/** Runs the benchmarks named, or all of them, and prints their tables. `--quick` takes fewer rounds. */
import { readdirSync } from 'node:fs'
import { ensureEngine } from './ensure-engine.mjs'

const args = process.argv.slice(2)
const quick = args.includes('--quick')
const wanted = args.filter((arg) => !arg.startsWith('--'))
const engineNode = await ensureEngine()
if (engineNode) console.error('The engine is emulated here: these figures say nothing of a native one.\n')
const directory = new URL('../bench/', import.meta.url)
const names = readdirSync(directory)
  .filter((file) => file.endsWith('.bench.mjs'))
  .map((file) => file.replace('.bench.mjs', ''))
  .filter((name) => wanted.length === 0 || wanted.includes(name))
for (const name of names) {
  const { run } = await import(new URL(`${name}.bench.mjs`, directory))
  console.log(
    await run({ engineNode: engineNode ?? process.execPath, patience: engineNode ? 10 : 1, quick }),
    '\n',
  )
}
