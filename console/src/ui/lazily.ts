import { type ComponentType, lazy } from 'react'
import { connection } from '../api/connection.ts'

type Load<P> = () => Promise<{ default: ComponentType<P> }>

const loads: Load<never>[] = []
const retryEveryMs = 5_000

/** A component that is loaded when it is needed, and waits for a service that cannot be reached. */
export function lazily<P>(load: Load<P>) {
  loads.push(load as Load<never>)
  return lazy(() => loaded(load))
}

async function loaded<P>(load: Load<P>): ReturnType<Load<P>> {
  for (let wasOffline = false; ; wasOffline = true) {
    try {
      return await load()
    } catch (error) {
      const isReachable = await fetch('/health').then(Boolean, () => false)
      if (isReachable) {
        // Browsers remember a failed import until the page is reloaded.
        if (wasOffline) location.reload()
        throw error
      }
      connection.lost()
      await connection.pause(retryEveryMs)
    }
  }
}

/** Loads the remaining components while the page is idle, so that they are there when the service is not. */
export function loadAhead(): () => void {
  let next = 0
  let timer = setTimeout(step, 3_000)
  async function step(): Promise<void> {
    const load = loads[next++]
    // A component that fails to load is loaded again when it is needed.
    if (await load?.().catch(() => undefined)) timer = setTimeout(step, 100)
  }
  return () => clearTimeout(timer)
}
