import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'

export interface SourceImport {
  readonly specifier: string
  /** Relative to the repository; absent for a package. */
  readonly target?: string
  readonly typeOnly: boolean
}

/** One TypeScript file of the repository, as far as the rules of the architecture ask about it. */
export interface Source {
  /** Relative to the repository, with slashes. */
  readonly path: string
  readonly text: string
  readonly lines: number
  readonly imports: readonly SourceImport[]
  /** Names used as values that nothing in the file declares, with the member that was reached for: `Date.now`. */
  readonly globals: ReadonlySet<string>
  /** Names after a dot: `objectStore` of `tx.objectStore(…)`. */
  readonly members: ReadonlySet<string>
  /** Names that are called or constructed: `fetch` of `environment.fetch(…)`, `WebSocket` of `new WebSocket(…)`. */
  readonly calls: ReadonlySet<string>
  readonly hasDefaultExport: boolean
  readonly hasStarExport: boolean
}

/** Every TypeScript file below `folders`. */
export function readSources(folders: readonly string[]): Source[] {
  return folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => path.join(folder, file)),
    )
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => /\.tsx?$/.test(file) && !/(^|\/)(node_modules|dist)\//.test(file))
    .sort()
    .map((file) => readSource(file, readFileSync(file, 'utf8')))
}

export function readSource(file: string, text: string): Source {
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const imports: SourceImport[] = []
  const declared = new Set<string>()
  const used = new Set<string>()
  const members = new Set<string>()
  const calls = new Set<string>()
  let hasDefaultExport = false
  let hasStarExport = false

  const addImport = (specifier: string, typeOnly: boolean) => {
    const target = specifier.startsWith('.') ? path.posix.join(path.posix.dirname(file), specifier) : undefined
    imports.push({ specifier, typeOnly, ...(target !== undefined && { target }) })
  }

  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      addImport(node.moduleSpecifier.text, isTypeOnly(node.importClause))
    }
    if (ts.isExportDeclaration(node)) {
      if (!node.exportClause) hasStarExport = true
      if (node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
        addImport(node.moduleSpecifier.text, node.isTypeOnly)
      }
      return
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments
      if (argument && ts.isStringLiteral(argument)) addImport(argument.text, false)
    }
    if (ts.isExportAssignment(node)) hasDefaultExport = true
    if (ts.canHaveModifiers(node)) {
      hasDefaultExport ||= ts.getModifiers(node)?.some((it) => it.kind === ts.SyntaxKind.DefaultKeyword) ?? false
    }
    if (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) return
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const { expression } = node
      if (ts.isPropertyAccessExpression(expression)) calls.add(expression.name.text)
      if (ts.isIdentifier(expression)) calls.add(expression.text)
    }
    if (ts.isPropertyAccessExpression(node)) members.add(node.name.text)
    if (ts.isIdentifier(node)) {
      if (isDeclaration(node)) declared.add(node.text)
      else if (isReference(node)) for (const name of referenceNames(node)) used.add(name)
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)

  const globals = new Set([...used].filter((name) => !declared.has(name.split('.')[0] ?? name)))
  const lines = text.split('\n').length - 1
  return { path: file, text, lines, imports, globals, members, calls, hasDefaultExport, hasStarExport }
}

function isTypeOnly(clause: ts.ImportClause | undefined): boolean {
  if (!clause) return false
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true
  const { name, namedBindings } = clause
  if (name || !namedBindings || !ts.isNamedImports(namedBindings)) return false
  return namedBindings.elements.length > 0 && namedBindings.elements.every((element) => element.isTypeOnly)
}

/** `crypto`, and with the member behind it: `crypto.randomUUID`; `new Date()` without arguments counts as `Date.now`. */
function referenceNames(node: ts.Identifier): string[] {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent) && parent.expression === node)
    return [node.text, `${node.text}.${parent.name.text}`]
  if (ts.isNewExpression(parent) && node.text === 'Date' && !parent.arguments?.length) return ['Date', 'Date.now']
  return [node.text]
}

function isDeclaration(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isImportSpecifier(parent) || ts.isImportClause(parent) || ts.isNamespaceImport(parent)) return true
  if (ts.isBindingElement(parent)) return parent.name === node
  return (
    (ts.isVariableDeclaration(parent) ||
      ts.isParameter(parent) ||
      ts.isFunctionDeclaration(parent) ||
      ts.isFunctionExpression(parent) ||
      ts.isClassDeclaration(parent)) &&
    parent.name === node
  )
}

/** False for names that stand for a member or a key and not for a variable. */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node
  if (ts.isBindingElement(parent)) return parent.propertyName !== node
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node
  if (ts.isJsxAttribute(parent)) return false
  return !(ts.isMethodDeclaration(parent) || ts.isPropertyDeclaration(parent) || ts.isGetAccessorDeclaration(parent))
}
