/** The builder's reports of a build: a version, no change, or problems. */
import { resolve } from 'node:path'
import { encodeBlueprint } from '../../config/compile/blueprint.ts'
import { summarizeUpstreams } from '../../config/compile/upstream-summary.ts'
import { type Blueprint, describeChange } from '../../config/load.ts'
import { type Problem, ProblemsError } from '../../config/problem.ts'
import { fileSource, read } from '../../config/read.ts'
import { checkWritable } from '../../store/make-folder.ts'
import type { Build, BuildProblems, BuiltVersion, UnchangedBuild } from '../messages.ts'
import { readFirstSettings } from './context.ts'
import type { LoadedVersion } from './versions.ts'

/** `serving`: the version that is live. */
export const reportBuild = (
  candidate: LoadedVersion,
  serving: Blueprint | undefined,
  { unless }: Build,
): BuiltVersion | UnchangedBuild => {
  const { blueprint, snapshot, plugins, watchedPaths, secrets, from } = candidate
  if (blueprint.hash === serving?.hash || blueprint.hash === unless)
    return { type: 'unchanged', watchedPaths }
  const change = serving ? describeChange(serving, blueprint) : ''
  return {
    type: 'built',
    version: blueprint.version,
    hash: blueprint.hash,
    settings: snapshot.settings,
    watchedPaths,
    blueprint: encodeBlueprint(blueprint, candidate.parts),
    secrets: [...secrets],
    change: from === undefined ? change : `back to #${from}: ${change}`,
    admin: [...snapshot.admin.endpoints.keys()].sort(),
    metrics: Object.assign({}, ...[...plugins.values()].map(({ metrics }) => metrics)),
    routes: snapshot.routes.map(({ route }) => `${route.method} ${route.pattern}`),
    serves: Object.fromEntries(
      [...plugins].flatMap(([name, { serves }]) => (serves === undefined ? [] : [[name, serves]])),
    ),
    upstreams: summarizeUpstreams(blueprint.document, snapshot.upstreams),
    replacements: blueprint.plugins.flatMap(each => (each.isReplacement ? each.file : [])),
  }
}

/** `config`: path of routes.yaml, where a problem without a source position is reported. */
export const reportProblems = (error: unknown, config: string): BuildProblems => {
  if (error instanceof ProblemsError) {
    const { problems, message, watchedPaths } = error
    return { type: 'problems', problems, text: message, watchedPaths }
  }
  const { code = 'LOAD_FAILED', message, path = '' } = error as NodeJS.ErrnoException
  const { data } = readFirstSettings(config)
  const isOfDataFolder = /^E[A-Z]+$/.test(code) && path.startsWith(resolve(data))
  return isOfDataFolder
    ? oneProblem(
        config,
        'DATA_FOLDER',
        `the data folder "${data}" cannot be used: ${message}; set settings.data or TOLLGATE_DATA to a folder that this user can write to`,
      )
    : oneProblem(config, code, message)
}

/** Throws the error of a data folder that cannot be used: a first build would fail on it later, at
 *  a place that says less. The problems of the configuration come first. */
export const checkDataFolder = (config: string): void => {
  const { problems } = read(config, fileSource())
  if (problems.length > 0) return
  const { data } = readFirstSettings(config)
  try {
    checkWritable(data)
  } catch (error) {
    throw Object.assign(error as Error, { path: resolve(data) })
  }
}

const oneProblem = (file: string, code: string, message: string): BuildProblems => {
  const problem: Problem = { code, message, file, line: 1, column: 1 }
  const text = `${code}  ${message}`
  return { type: 'problems', problems: [problem], text, watchedPaths: [] }
}
