import { createRequire } from 'node:module'

const packages = {
  'linux-x64': '@chdb/lib-linux-x64-gnu',
  'linux-arm64': '@chdb/lib-linux-arm64-gnu',
  'darwin-x64': '@chdb/lib-darwin-x64',
  'darwin-arm64': '@chdb/lib-darwin-arm64',
}

/**
 * Settings that the embedded engine needs on this machine: none where the native library of chdb is installed, or where
 * WELLHEAD_ENGINE_NODE is already set. On Linux arm64 without that library, sets up an emulated engine.
 */
export async function engineEnvironment() {
  const platform = `${process.platform}-${process.arch}`
  const name = packages[platform]
  if (process.env.WELLHEAD_ENGINE_NODE || isInstalled(name)) return {}
  if (platform === 'linux-arm64') {
    const { emulatedEngine } = await import('./emulation/emulated-engine.mjs')
    const { WELLHEAD_ENGINE_PATIENCE: patience } = process.env
    return { WELLHEAD_ENGINE_NODE: await emulatedEngine(), WELLHEAD_ENGINE_PATIENCE: patience || '10' }
  }
  const problem = name ? `${name} is not installed` : 'chdb has no native package for it'
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
