/** The files of deploy/, and the chart as Helm renders it with its default values. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ROOT } from './installed-package.ts'

export const DEPLOY = join(ROOT, 'deploy')
export const textOf = (file: string): string => readFileSync(join(DEPLOY, file), 'utf8')

/** The few functions of Helm that the chart uses. */
export const renderChart = (file: string): string => {
  const values = { ...parse(textOf('helm/tollgate/values.yaml')), routes: textOf('routes.yaml') }
  return textOf(`helm/tollgate/templates/${file}`)
    .replaceAll('{{ .Release.Name }}', 'tollgate')
    .replace(/\{\{ \.Values\.(\w+) \| indent 4 \}\}/, (_, name) =>
      String(values[name]).replace(/^/gm, '    '),
    )
    .replace(
      /\{\{ toJson \.Values\.resources \}\}/,
      '{ requests: { cpu: 500m, memory: 512Mi }, limits: { memory: 2Gi } }',
    )
    .replace(/\{\{ \.Values\.(\w+) \}\}/g, (_, name) => String(values[name]))
}
