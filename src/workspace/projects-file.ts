import { z } from 'zod'
import { type FileProblem, readYamlFile } from '../base/files/file-problem.ts'
import type { TextPosition } from '../base/files/yaml-fields.ts'
import { must } from '../base/validation.ts'
import { projectName } from '../projects/plan.ts'

/** In the root of a workspace: the plan of each project. Others keep theirs. */
export const projectsFileName = 'projects.yaml'

export interface ProjectsFile {
  /** Names of plans by project. */
  plans: ReadonlyMap<string, string>
  positionOf(project: string): TextPosition
}

const maxProjects = 100_000

const planName = z.string(must('the name of a plan, such as pro')).min(1, must('the name of a plan')).max(128)
const shape = z.record(projectName, planName).refine((plans) => Object.keys(plans).length <= maxProjects, {
  error: `must have at most ${maxProjects} projects`,
})

export function readProjectsFile(content: string): ProjectsFile | { problems: FileProblem[] } {
  const isBlank = content.split('\n').every((line) => /^\s*(#|$)/.test(line))
  const reading = readYamlFile(projectsFileName, isBlank ? '{}' : content, shape, 'acme: pro')
  if ('problems' in reading) return reading
  const { value, yaml } = reading
  return { plans: new Map(Object.entries(value)), positionOf: (project) => yaml.positionOf([project]) }
}
