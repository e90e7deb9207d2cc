/** Uses sessions without some of their settings and after failed queries. Prints what the guards report. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Session } from 'chdb'
import { checkDurability, checkSession, writeEngineConfig } from '../../../build/engine/host/engine-config.js'
import { rowLines } from '../../../build/engine/host/measured-rows.js'
import { EngineSession } from '../../../build/engine/host/session.js'

const [, , directory] = process.argv
const connectionArgs = writeEngineConfig(directory, { memoryBytes: 2 * 2 ** 30 })
leaveOut('config.xml', '<fsync_after_insert>1</fsync_after_insert>')
leaveOut('users.xml', '<max_query_size>67108864</max_query_size>')

function leaveOut(file, part) {
  const path = join(directory, file)
  const text = readFileSync(path, 'utf8')
  if (!text.includes(part)) throw new Error(`${file} has no ${part}`)
  writeFileSync(path, text.replace(part, ''))
}

const open = () => new EngineSession(new Session(join(directory, 'store'), { connectionArgs }))
const outcome = (promise) =>
  promise.then(
    () => 'fine',
    (error) => error.message,
  )
const rows = 'SELECT 1 AS n FORMAT JSONEachRowWithProgress'
const failing =
  "SELECT 'secret', throwIf(number = 30000, 'on purpose') FROM numbers(40000) SETTINGS max_block_size = 1000"

const control = open()
const said = {
  sessionSettings: await outcome(checkSession(control)),
  durability: await outcome(checkDurability(control)),
}
await control.run('SET max_query_size = 67108864', 'Null')
said.sessionSettingsOnceSet = await outcome(checkSession(control))

const session = open()
said.cleanSession = [
  await outcome(session.query('SELECT 1', 'TabSeparated')),
  await outcome(session.queryRows(rows, rowLines)),
]
said.spoiledBefore = session.spoiled
said.failure = (await outcome(session.run(failing, 'TabSeparated'))).includes('on purpose')
said.spoiledAfter = session.spoiled
said.leftovers = [await outcome(session.query('SELECT 1', 'TabSeparated'))]
for (const format of ['TabSeparated', 'JSONEachRowWithProgress']) {
  const other = open()
  await outcome(other.run(`${failing} FORMAT ${format}`, 'TabSeparated'))
  said.leftovers.push(await outcome(other.queryRows(rows, rowLines)))
}

// The binding frees a closed session when all queries have ended that ran at that moment.
const order = []
const other = open()
const running = control.run('SELECT sleep(1)', 'Null').then(() => order.push('query ended'))
await Promise.all([running, other.close().then(() => order.push('session closed'))])
said.order = order

console.log(JSON.stringify(said))
process.exit(0)
