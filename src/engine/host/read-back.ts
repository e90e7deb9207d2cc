import { durabilitySettings, sessionSettings } from './engine-config.ts'

/** What is asked here of a session. */
interface Asked {
  run(sql: string, format: string): Promise<{ bytes: Uint8Array }>
}

/** Throws when the engine reports a setting otherwise than it was given. */
export function checkReadBack(
  given: Readonly<Record<string, string>>,
  reported: ReadonlyMap<string, string>,
): void {
  const wrong = Object.keys(given).filter((name) => reported.get(name) !== given[name])
  if (wrong.length === 0) return
  const list = wrong.map((name) => `${name} is ${reported.get(name) ?? 'unknown'}, not ${given[name]}`)
  throw new Error(`The engine ignored its settings: ${list.join('; ')}.`)
}

/** Settings given at connect were once ignored by the binding, so each session is asked for them. */
export async function checkSession(session: Asked): Promise<void> {
  const names = Object.keys(sessionSettings)
  const values = names.map((name) => `toString(toUInt64(getSetting('${name}')))`)
  checkReadBack(sessionSettings, await pairs(session, names, values))
}

/** What decides over lost rows is read back before the first query is taken. */
export async function checkDurability(session: Asked): Promise<void> {
  const names = Object.keys(durabilitySettings)
  const values = names.map(
    (name) => `(SELECT any(value) FROM system.merge_tree_settings WHERE name = '${name}')`,
  )
  checkReadBack(durabilitySettings, await pairs(session, names, values))
}

async function pairs(session: Asked, names: string[], values: string[]): Promise<Map<string, string>> {
  const { bytes } = await session.run(`SELECT ${values.join(', ')}`, 'TabSeparated')
  const reported = Buffer.from(bytes).toString().trimEnd().split('\t')
  return new Map(names.map((name, i) => [name, reported[i] ?? '']))
}
