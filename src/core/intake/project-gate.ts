import { type ProjectLines, projectRuns } from './line-projects.ts'

/** The lines of a request, and those that the quarantine keeps of it. */
interface GatedBatch {
  readonly lines: ProjectLines
  readonly quarantine: ProjectLines
}

interface RequestInside {
  batches: readonly GatedBatch[]
  hasLeft: Promise<void>
}

/** Names of projects, or all of them and entries without a project. */
type HeldProjects = ReadonlySet<string> | 'all'

interface Hold {
  projects: HeldProjects
  isReleased: Promise<void>
}

/** Lets something happen at a moment at which no request with entries of some projects is being stored. */
export class ProjectGate {
  readonly #inside = new Set<RequestInside>()
  readonly #holds = new Set<Hold>()

  /** Waits while a project of the request is held. Call what it returns when the request is complete. */
  async enter(batches: readonly GatedBatch[]): Promise<() => void> {
    for (;;) {
      const hold = [...this.#holds].find(({ projects }) => concerns(batches, projects))
      if (!hold) break
      await hold.isReleased
    }
    let leave = () => {}
    const hasLeft = new Promise<void>((resolve) => {
      leave = resolve
    })
    const request = { batches, hasLeft }
    this.#inside.add(request)
    return () => {
      this.#inside.delete(request)
      leave()
    }
  }

  /** Makes further requests of these projects wait until what it returns is called, and resolves when earlier ones are complete. */
  async hold(projects: HeldProjects): Promise<() => void> {
    let release = () => {}
    const isReleased = new Promise<void>((resolve) => {
      release = resolve
    })
    const hold = { projects, isReleased }
    this.#holds.add(hold)
    const earlier = [...this.#inside].filter(({ batches }) => concerns(batches, projects))
    await Promise.all(earlier.map(({ hasLeft }) => hasLeft))
    return () => {
      this.#holds.delete(hold)
      release()
    }
  }
}

/** Rejected lines without a project may name any in their text. */
function concerns(batches: readonly GatedBatch[], projects: HeldProjects): boolean {
  if (projects === 'all') return true
  for (const { lines, quarantine } of batches) {
    for (const { project } of projectRuns(lines)) if (projects.has(project)) return true
    for (const { project } of projectRuns(quarantine)) {
      if (project === '' || projects.has(project)) return true
    }
  }
  return false
}
