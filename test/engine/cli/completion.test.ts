/** `tollgate completion`: bash's own completion gives commands, subcommands and options. */
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { usedFolder } from '../../helpers/cache.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'

const CONFIG = fileURLToPath(new URL('../../../routes.yaml', import.meta.url))
const folder = t.testdir({})
const env = { TOLLGATE_CONFIG: CONFIG, TOLLGATE_DATA: usedFolder(`${folder}/data`) }
const has = (program: string): boolean => spawnSync('which', [program]).status === 0

/** The words that bash offers for the last of `words`, by `complete` as a shell runs it. */
const complete = (file: string, words: readonly string[]): string[] => {
  const script = `source "$1"; shift
    COMP_WORDS=(tollgate "$@"); COMP_CWORD=$#; COMP_LINE="\${COMP_WORDS[*]}"; COMP_POINT=\${#COMP_LINE}
    name=$(complete -p tollgate); name=\${name##*-F }; name=\${name%% *}
    $name; printf '%s\\n' "\${COMPREPLY[@]}"`
  const out = execFileSync('bash', ['-c', script, 'bash', file, ...words], { encoding: 'utf8' })
  return out.split('\n').filter(Boolean)
}

t.test('completion bash: completes engine and plugin commands, and options', async t => {
  const { code, out } = await tollgate(['completion', 'bash'], env)
  t.equal(code, 0)
  const file = `${folder}/tollgate.bash`
  writeFileSync(file, out)
  t.same(complete(file, ['di']), ['diff'])
  t.same(complete(file, ['acc']), ['accounts'])
  t.ok(complete(file, ['accounts', 'c']).includes('credit'))
  t.same(complete(file, ['check', '--li']), ['--live'])
  t.same(complete(file, ['accounts', 'create', '--jso']), ['--json'])
  t.same(complete(file, ['nonsense', '']), [])
})

t.test('completion zsh and fish: the shells accept their scripts', async t => {
  for (const shell of ['zsh', 'fish']) {
    const { code, out } = await tollgate(['completion', shell], env)
    t.equal(code, 0)
    t.match(out, /accounts/)
    t.match(out, /--live|-l live/)
    const file = `${folder}/tollgate.${shell}`
    writeFileSync(file, out)
    if (has(shell)) t.equal(spawnSync(shell, ['-n', file]).status, 0)
  }
})

t.test(
  'completion: without a configuration only engine commands; other shells are refused',
  async t => {
    const { code, out } = await tollgate(['completion', 'bash', '-c', `${folder}/none.yaml`])
    t.equal(code, 0)
    t.match(out, /rollback/)
    t.notMatch(out, /^ +(accounts|keys)\)$/m)
    t.match(await tollgate(['completion', 'cmd']), { code: 2, err: /bash, zsh or fish/ })
  },
)
