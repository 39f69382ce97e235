/** Frameworks for agents as their authors publish them, in the versions that are tested. They are
 *  installed when a test first needs them. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Gateway } from './agents.ts'
import {
  AI_SDK,
  LANGCHAIN_JS,
  LANGCHAIN_PYTHON,
  MASTRA,
  OPENAI_AGENTS,
  PYDANTIC_AI,
} from './framework-programs.ts'

export interface Framework {
  readonly name: string
  readonly from: 'pip' | 'npm'
  /** With their versions. */
  readonly packages: readonly string[]
  readonly program: string
  /** The number of answers that the program prints. */
  readonly answers: number
}
const AI_PROVIDERS = ['@ai-sdk/openai@4.0.118', '@ai-sdk/anthropic@4.0.105', 'zod@4.6.7']
export const FRAMEWORKS: readonly Framework[] = [
  {
    name: 'pydantic-ai',
    from: 'pip',
    packages: ['pydantic-ai-slim[openai,anthropic,google]==2.68.0'],
    program: PYDANTIC_AI,
    answers: 4,
  },
  {
    name: 'openai-agents',
    from: 'pip',
    packages: ['openai-agents==0.24.0'],
    program: OPENAI_AGENTS,
    answers: 4,
  },
  {
    name: 'langchain-python',
    from: 'pip',
    packages: ['langchain==1.5.2', 'langchain-openai==1.7.4', 'langchain-anthropic==1.7.10'],
    program: LANGCHAIN_PYTHON,
    answers: 6,
  },
  {
    name: 'ai-sdk',
    from: 'npm',
    packages: ['ai@7.0.173', '@ai-sdk/google@4.0.121', ...AI_PROVIDERS],
    program: AI_SDK,
    answers: 8,
  },
  {
    name: 'langchain-js',
    from: 'npm',
    packages: [
      'langchain@1.5.14',
      '@langchain/core@1.4.0',
      '@langchain/openai@1.6.0',
      '@langchain/anthropic@1.5.11',
      'zod@4.6.7',
    ],
    program: LANGCHAIN_JS,
    answers: 6,
  },
  {
    name: 'mastra',
    from: 'npm',
    packages: ['@mastra/core@1.71.0', ...AI_PROVIDERS],
    program: MASTRA,
    answers: 6,
  },
]

const FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/frameworks', import.meta.url))
const run = promisify(execFile)
/** The command that runs the program of the framework. Undefined where its packages cannot be
 *  had. */
export const installFramework = async (
  framework: Framework,
): Promise<readonly [command: string, program: string] | undefined> => {
  const { name, from, packages, program } = framework
  const version = packages.map(each => /[^@=]+$/.exec(each)?.[0]).join('-')
  const folder = join(FOLDER, `${name}-${version}`)
  const mark = join(folder, 'installed')
  const path = join(folder, from === 'pip' ? 'program.py' : 'program.mjs')
  mkdirSync(folder, { recursive: true })
  try {
    if (!existsSync(mark)) await install(framework, folder)
  } catch {
    return undefined
  }
  writeFileSync(mark, '')
  writeFileSync(path, program)
  return [from === 'pip' ? join(folder, 'bin/python') : process.execPath, path]
}
const install = async ({ from, packages }: Framework, folder: string): Promise<void> => {
  const limits = { timeout: 600_000 }
  if (from === 'npm') {
    const options = ['--no-audit', '--no-fund', '--prefix', folder]
    return void (await run('npm', ['install', ...options, ...packages], limits))
  }
  await run('python3', ['-m', 'venv', folder], limits)
  await run(join(folder, 'bin/pip'), ['install', '--quiet', ...packages], limits)
}

/** Resolves to what the program printed. */
export const runFramework = async (
  [command, program]: readonly [string, string],
  { cwd, prompt, gateway }: { cwd: string; prompt: string; gateway: Gateway },
): Promise<{ readonly output: string; readonly errors: string }> => {
  const { PATH = '', LANG = 'C.UTF-8' } = process.env
  const { url, key } = gateway
  const env = { PATH, LANG, HOME: cwd, GATEWAY_URL: url, GATEWAY_KEY: key, PROMPT: prompt }
  return run(command, [program], { cwd, env, timeout: 120_000 }).then(
    ({ stdout, stderr }) => ({ output: stdout, errors: stderr }),
    error => ({ output: error.stdout ?? '', errors: String(error.stderr ?? error) }),
  )
}
