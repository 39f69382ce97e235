/** Requests that schemathesis generates from the OpenAPI document of the shipped routes: none may
 *  find a fault of the gateway, or an answer that the document does not describe. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { LONG } from '../../helpers/run-settings.ts'

const run = promisify(execFile)
const FOLDER = fileURLToPath(new URL('../../../.ci/schemathesis', import.meta.url))
const BIN = join(FOLDER, 'venv/bin')
const SECONDS = 90
const CHECKS =
  'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance'

/** Undefined where Python or the package cannot be had. */
const install = async (): Promise<string | undefined> => {
  const program = join(BIN, 'schemathesis')
  const hasAll = (): boolean => existsSync(program)
  const python = async (): Promise<void> => {
    await run('python3', ['-m', 'venv', join(FOLDER, 'venv')])
    await run(join(BIN, 'pip'), ['install', '-q', '-r', join(FOLDER, 'requirements.txt')])
  }
  if (!hasAll()) await python().catch(() => undefined)
  return hasAll() ? program : undefined
}

/** Operations of each credential, and those left out: they end the credential or the limits of the
 *  run, are not part of the product's API, or (`/upload`) answer 501 to protocols of uploads that
 *  they do not have. */
const RUNS = {
  'API key': {
    keep: '^/',
    leave: '^/(api|sandbox|console|upload)/',
  },
  'system token': {
    keep: '^/api/',
    leave:
      'session|revoke|rotate|system-tokens|/api/keys|configuration|events|keys/limits|accounts/(delete|rename|suspend|limits)',
  },
} as const

t.test(
  'schemathesis: finds no fault in the shipped routes',
  { skip: !LONG && 'CI and the long form run it', timeout: 600_000 },
  async t => {
    const program = await install()
    if (!program) {
      t.pass('skipped: schemathesis cannot be installed here')
      return
    }
    const gateway = await startGateway()
    t.teardown(() => gateway.stop())
    const key = await gateway.key()
    const token = /\bst-\w{20,}/.exec(gateway.output())?.[0] ?? ''
    for (const [name, { keep, leave }] of Object.entries(RUNS)) {
      const bounds = ['--max-time', String(SECONDS), '-n', '3', '--seed', '1', '-w', '1']
      const plain = ['--no-shrink', '--no-color', '--generation-with-security-parameters', 'false']
      const paths = ['--include-path-regex', keep, '--exclude-path-regex', leave]
      const credential = ['-H', `Authorization: Bearer ${name === 'API key' ? key : token}`]
      const scope = ['--checks', CHECKS, '--phases', 'coverage,fuzzing', '--warnings', 'off']
      const url = `${gateway.url}/openapi.json`
      const options = [...bounds, ...plain, ...paths, ...credential, ...scope]
      const result = await run(program, ['run', url, ...options, '--continue-on-failure'], {
        cwd: FOLDER,
        maxBuffer: 2 ** 26,
      }).catch(({ stdout }: { readonly stdout: string }) => ({ stdout, failed: true }))
      const [, failures = ''] = result.stdout.split(/=+ (?=FAILURES|ERRORS)/)
      t.notOk('failed' in result, `${name}: ${failures.slice(0, 8_000)}`)
    }
  },
)
