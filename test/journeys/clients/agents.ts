/** Agent command lines as their vendors publish them, in the versions that are tested. They are
 *  large, so they are installed when a test first needs them. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export interface Agent {
  readonly name: string
  readonly package: string
  readonly version: string
  readonly command: string
  /** The registry of the package; npm by default. */
  readonly from?: 'pip'
  /** The prompt for an agent that cannot run commands; the others get the usual one. */
  readonly prompt?: string
  /** Arguments of one run without questions. */
  run(prompt: string, gateway: Gateway): readonly string[]
  env(gateway: Gateway): Readonly<Record<string, string>>
  /** Files below its home. */
  files?(gateway: Gateway): Readonly<Record<string, string>>
}
export interface Gateway {
  readonly url: string
  readonly key: string
}

const MODEL = 'agent-model'
const codex: Agent = {
  name: 'codex',
  package: '@openai/codex',
  version: '0.169.0',
  command: 'codex',
  run: prompt => [
    'exec',
    '--skip-git-repo-check',
    '--dangerously-bypass-approvals-and-sandbox',
    prompt,
  ],
  env: ({ key }) => ({ GATEWAY_KEY: key }),
  files: ({ url }) => ({
    '.codex/config.toml': `model = "${MODEL}"
model_provider = "gateway"
[model_providers.gateway]
name = "gateway"
base_url = "${url}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`,
  }),
}
const claudeCode: Agent = {
  name: 'claude-code',
  package: '@anthropic-ai/claude-code',
  version: '2.1.330',
  command: 'claude',
  run: prompt => ['-p', prompt, '--model', MODEL, '--allowedTools', 'Bash'],
  env: ({ url, key }) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: key,
    ANTHROPIC_SMALL_FAST_MODEL: MODEL,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  }),
}
const geminiCli: Agent = {
  name: 'gemini-cli',
  package: '@google/gemini-cli',
  version: '0.61.0',
  command: 'gemini',
  run: prompt => ['-p', prompt, '-m', MODEL, '--yolo'],
  env: ({ url, key }) => ({
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: key,
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
  }),
  files: () => ({
    '.gemini/settings.json': JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
      general: { disableAutoUpdate: true },
    }),
  }),
}
const opencode: Agent = {
  name: 'opencode',
  package: 'opencode-ai',
  version: '1.18.33',
  command: 'opencode',
  run: prompt => ['run', '--model', `gateway/${MODEL}`, prompt],
  env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1' }),
  files: ({ url, key }) => ({
    '.config/opencode/opencode.json': JSON.stringify({
      permission: { bash: 'allow' },
      provider: {
        gateway: {
          npm: '@ai-sdk/openai-compatible',
          name: 'gateway',
          options: { baseURL: `${url}/v1`, apiKey: key },
          models: { [MODEL]: { name: MODEL } },
        },
      },
    }),
  }),
}
/** It has no tools: it sends a file once the model has named it. */
const aider: Agent = {
  name: 'aider',
  package: 'aider-chat',
  version: '0.86.2',
  command: 'aider',
  from: 'pip',
  prompt: 'Read the file of this repository and tell me the word in it.',
  run: prompt =>
    `--model openai/${MODEL} --yes-always --map-tokens 0 --no-check-update --no-analytics
      --no-show-model-warnings --no-gitignore --no-auto-commits --no-pretty --no-fancy-input
      --no-detect-urls --message`
      .split(/\s+/)
      .concat(prompt),
  env: ({ url, key }) => ({
    OPENAI_API_BASE: `${url}/v1`,
    OPENAI_API_KEY: key,
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  }),
}
/** Codex with its other transport. */
const codexSocket: Agent = {
  ...codex,
  name: 'codex by WebSocket',
  files: gateway => ({
    '.codex/config.toml': `${codex.files?.(gateway)['.codex/config.toml']}supports_websockets = true\n`,
  }),
}
export const AGENTS: readonly Agent[] = [codex, codexSocket, claudeCode, geminiCli, opencode, aider]

const FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/agents', import.meta.url))
const run = promisify(execFile)
/** Installs the package of an agent, if it is not there; resolves to the path of its command, or to
 *  undefined if the registry has none. */
export const install = async (agent: Agent): Promise<string | undefined> => {
  const { package: name, version, command, from } = agent
  const folder = join(FOLDER, `${name.replaceAll('/', '-')}-${version}`)
  const path = join(folder, from === 'pip' ? 'bin' : 'node_modules/.bin', command)
  if (existsSync(path)) return path
  mkdirSync(folder, { recursive: true })
  const limits = { timeout: 600_000 }
  try {
    if (from === 'pip') {
      await run('python3', ['-m', 'venv', folder], limits)
      await run(join(folder, 'bin/pip'), ['install', '--quiet', `${name}==${version}`], limits)
    } else {
      const options = ['--no-audit', '--no-fund', '--prefix', folder]
      await run('npm', ['install', ...options, `${name}@${version}`], limits)
    }
  } catch {
    return undefined
  }
  return path
}

/** Runs an agent in a folder with its own home; resolves to what it printed. */
export const runAgent = async (
  agent: Agent,
  {
    command,
    home,
    cwd,
    prompt,
    gateway,
  }: {
    readonly command: string
    readonly home: string
    readonly cwd: string
    readonly prompt: string
    readonly gateway: Gateway
  },
): Promise<{ readonly code: number; readonly output: string }> => {
  for (const [path, text] of Object.entries(agent.files?.(gateway) ?? {})) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  const { PATH = '', LANG = 'C.UTF-8' } = process.env
  const env = { PATH, LANG, HOME: home, NO_COLOR: '1', CI: '1', ...agent.env(gateway) }
  const execution = run(command, [...agent.run(prompt, gateway)], {
    cwd,
    env,
    timeout: 120_000,
    maxBuffer: 16 * 2 ** 20,
  })
  execution.child.stdin?.end()
  return execution.then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    error => ({ code: error.code ?? 1, output: `${error.stdout}${error.stderr}` }),
  )
}
