/** `.env` beside routes.yaml: its variables, the environment that wins, and a broken line. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { usedFolder } from '../../helpers/cache.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { cachedCommand, operatorEnv } from '../../helpers/operator.ts'

const CLI = fileURLToPath(new URL('../../../engine/cli.ts', import.meta.url))

const upstreamOf = async (t: Test, file: string, env: Readonly<Record<string, string>> = {}) => {
  const folder = t.testdir({
    '.env': file,
    'routes.yaml': `settings: { data: '${t.testdirName}/data' }
upstreams: { up: { url: '\${UP}' } }
routes: [{ path: GET /a, upstream: up }]
`,
  })
  usedFolder(join(folder, 'data'))
  return tollgate(['explain', 'GET', '/a', '--json', '-c', join(folder, 'routes.yaml')], env)
}

t.test('.env: its variables are those of the commands', async t => {
  const text = '# local\nexport UP="http://127.0.0.1:91" # here\n\nLONG="two\nlines"\nEMPTY=\n'
  const { code, out } = await upstreamOf(t, text)
  t.equal(code, 0)
  t.match(out, /127\.0\.0\.1:91/)
})

t.test('.env: the environment wins', async t => {
  const { out } = await upstreamOf(t, 'UP=http://127.0.0.1:91\n', { UP: 'http://127.0.0.1:92' })
  t.match(out, /127\.0\.0\.1:92/)
})

t.test('.env: a process gets its variables, but not those that it has', async t => {
  const yaml = `settings: { data: '${t.testdirName}/data' }
upstreams: { up: { url: 'http://\${ENV_FILE_A}.\${ENV_FILE_B}' } }
routes: [{ path: GET /a, upstream: up }]
`
  const folder = t.testdir({ '.env': 'ENV_FILE_A=file\nENV_FILE_B=file\n', 'routes.yaml': yaml })
  usedFolder(join(folder, 'data'))
  const command = ['explain', 'GET', '/a', '-c', join(folder, 'routes.yaml')]
  const { stdout, stderr } = spawnSync(...cachedCommand(CLI, ...command), {
    env: { ...operatorEnv(), ENV_FILE_B: 'env' },
    encoding: 'utf8',
  })
  t.match(stdout, 'GET http://file.env/a', stderr)
})

t.test('.env: a file that cannot be read is a warning', async t => {
  const folder = t.testdir({
    '.env': {},
    'routes.yaml': `settings: { data: '${t.testdirName}/data' }\nroutes: []\n`,
  })
  usedFolder(join(folder, 'data'))
  const { code, err } = await tollgate(['check', '-c', join(folder, 'routes.yaml')], {})
  t.equal(code, 0)
  t.match(err, /^warning: .*\.env is ignored, since this user cannot read it/)
})

t.test('.env: a line that is not a variable is a problem with its place', async t => {
  const { code, err, out } = await upstreamOf(t, 'A="two\nlines"\nUP http://127.0.0.1:91\n')
  t.equal(code, 1)
  t.match(err + out, /\.env".*"line": ?3|\.env:3:1 {2}ENV_SYNTAX/s)
})
