import { isMap, isScalar } from 'yaml'
import { z } from 'zod'
import { type FileProblem, readYamlFile } from '../core/base/files/file-problem.ts'
import type { TextPosition, YamlFields } from '../core/base/files/yaml-fields.ts'
import { must, problemSentence } from '../core/base/validation.ts'
import { projectName } from '../features/plans/plan.ts'

/** In the root of a workspace: the plan of each project. Others keep theirs. */
export const projectsFileName = 'projects.yaml'

export interface ProjectsFile {
  /** Names of plans by project. */
  plans: ReadonlyMap<string, string>
  positionOf(project: string): TextPosition
}

const maxProjects = 100_000

const planName = z.string(must('the name of a plan, such as pro')).min(1, must('the name of a plan')).max(128)
const shape = z.record(z.string(), planName).refine((plans) => Object.keys(plans).length <= maxProjects, {
  error: `must have at most ${maxProjects} projects`,
})

export function readProjectsFile(content: string): ProjectsFile | { problems: FileProblem[] } {
  const isBlank = content.split('\n').every((line) => /^\s*(#|$)/.test(line))
  const reading = readYamlFile(projectsFileName, isBlank ? '{}' : content, shape, 'acme: pro')
  if ('problems' in reading) return reading
  const { value, yaml } = reading
  const problems = nameProblems(yaml)
  if (problems.length > 0) return { problems }
  return { plans: new Map(Object.entries(value)), positionOf: (project) => yaml.positionOf([project]) }
}

/** Also those of names that YAML reads as something else than they are written: `007` as 7, `True` as true, `~` as nothing. */
function nameProblems({ document: { contents }, positionOf }: YamlFields): FileProblem[] {
  const names = isMap(contents) ? contents.items.map(({ key }) => key) : []
  return names.flatMap((name) => {
    const value = isScalar(name) ? name.value : undefined
    const at = { file: projectsFileName, ...positionOf([value as PropertyKey]) }
    if (isScalar(name) && typeof value !== 'string' && String(value) !== name.source) {
      const { source } = name
      return [{ ...at, message: `The project ${source} would be read as ${value}: put ${source} in quotes.` }]
    }
    const reading = projectName.safeParse(isScalar(name) ? String(value) : null)
    const [issue] = reading.error?.issues ?? []
    return issue ? [{ ...at, message: problemSentence('The name of a project', issue.message) }] : []
  })
}
