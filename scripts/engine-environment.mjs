import { createRequire } from 'node:module'

/** Native libraries of chdb and ffi-rs. */
const libraries = {
  'linux-x64': ['@chdb/lib-linux-x64-gnu', '@yuuang/ffi-rs-linux-x64-gnu'],
  'linux-arm64': ['@chdb/lib-linux-arm64-gnu', '@yuuang/ffi-rs-linux-arm64-gnu'],
  'darwin-x64': ['@chdb/lib-darwin-x64', '@yuuang/ffi-rs-darwin-x64'],
  'darwin-arm64': ['@chdb/lib-darwin-arm64', '@yuuang/ffi-rs-darwin-arm64'],
}

/** Commands that start an engine; others do not wait until one is set up. */
const engineCommands = new Set(['serve', 'check', 'test', 'import', 'restore', 'copy', 'doctor'])

/** Whether a command line needs an embedded engine: `serve`, but not `serve --help` or `sql`. */
export function needsEngine(args, { WELLHEAD_CLICKHOUSE_URL: url } = process.env) {
  const command = args.find((argument) => !argument.startsWith('-'))
  if (!engineCommands.has(command) || args.some((argument) => /^(?:-h|--help|--no-engine)$/.test(argument))) {
    return false
  }
  // The workspace, backups and imports use an engine of their own beside a server.
  const usesServer = command === 'serve' || command === 'doctor'
  return !usesServer || !(url || args.some((argument) => /^--clickhouse-url(?:=|$)/.test(argument)))
}

/**
 * Settings that the embedded engine needs on this machine: none where its native libraries are installed, or where
 * WELLHEAD_ENGINE_NODE is already set. On Linux arm64 without them, sets up an emulated engine.
 */
export async function engineEnvironment() {
  const platform = `${process.platform}-${process.arch}`
  const needed = libraries[platform]
  const missing = needed?.find((name) => !isInstalled(name))
  if (process.env.WELLHEAD_ENGINE_NODE || (needed && !missing)) return {}
  if (platform === 'linux-arm64') {
    const { emulatedEngine } = await import('./emulation/emulated-engine.mjs')
    const { WELLHEAD_ENGINE_PATIENCE: patience } = process.env
    return { WELLHEAD_ENGINE_NODE: await emulatedEngine(), WELLHEAD_ENGINE_PATIENCE: patience || '10' }
  }
  const problem = needed ? `${missing} is not installed` : 'chdb has no native package for it'
  throw new Error(
    `No embedded engine for ${platform}: ${problem}. Set WELLHEAD_CLICKHOUSE_URL to use a ClickHouse server.`,
  )
}

function isInstalled(name) {
  try {
    return Boolean(createRequire(import.meta.url).resolve(name))
  } catch {
    return false
  }
}
