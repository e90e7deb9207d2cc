import { type ComponentType, lazy } from 'react'
import { connection } from '../api/connection.ts'

type Load<P> = () => Promise<{ default: ComponentType<P> }>

const loads: Load<never>[] = []
const retryEveryMs = 5_000

/** A part of the console that comes when it is needed. Without the service it waits until that is back. */
export function lazily<P>(load: Load<P>) {
  loads.push(load as Load<never>)
  return lazy(() => arriving(load))
}

async function arriving<P>(load: Load<P>): ReturnType<Load<P>> {
  for (let wasAway = false; ; wasAway = true) {
    try {
      return await load()
    } catch (error) {
      if (await isReachable()) {
        // Browsers remember that a file could not be had, until the page is loaded anew.
        if (wasAway) location.reload()
        throw error
      }
      connection.lost()
      await connection.pause(retryEveryMs)
    }
  }
}

function isReachable(): Promise<boolean> {
  return fetch('/health').then(
    () => true,
    () => false,
  )
}

/** Fetches what was not needed yet while there is nothing else to do, so that it is there when the service is not. */
export function loadAhead(): () => void {
  let next = 0
  let timer = setTimeout(step, 3_000)
  function step(): void {
    const load = loads[next++]
    // What cannot be had now is asked for again when it is needed.
    load?.().then(
      () => {
        timer = setTimeout(step, 100)
      },
      () => {},
    )
  }
  return () => clearTimeout(timer)
}
