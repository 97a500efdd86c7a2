// SPDX-License-Identifier: LGPL-2.1-or-later
// Two plugins of Clang 14, which leave out work that `./dev lint` needs not. With the first, the
// checks of clang-tidy do not walk through system headers, where they report nothing and would
// spend most of their time. What own code refers to there they still see. With the second, Clang
// parses a file, and instantiates only the templates whose values the parsing needs.
#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendPluginRegistry.h>

#include <memory>
#include <string>
#include <vector>

namespace {

// Runs before the consumer of clang-tidy.
class Scope : public clang::ASTConsumer {
  public:
    void HandleTranslationUnit(clang::ASTContext& context) override {
        std::vector<clang::Decl*> own;
        for (clang::Decl* declaration : context.getTranslationUnitDecl()->decls())
            if (!context.getSourceManager().isInSystemHeader(declaration->getLocation()))
                own.push_back(declaration);
        context.setTraversalScope(own);
    }
};

class OwnCode : public clang::PluginASTAction {
  protected:
    std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& /*compiler*/,
                                                          llvm::StringRef /*file*/) override {
        return std::make_unique<Scope>();
    }
    bool ParseArgs(const clang::CompilerInstance& /*compiler*/,
                   const std::vector<std::string>& /*arguments*/) override {
        return true;
    }
    ActionType getActionType() override { return AddBeforeMainAction; }
};

class ParseOnly : public clang::PluginASTAction {
  protected:
    std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& /*compiler*/,
                                                          llvm::StringRef /*file*/) override {
        return std::make_unique<clang::ASTConsumer>();
    }
    bool ParseArgs(const clang::CompilerInstance& /*compiler*/,
                   const std::vector<std::string>& /*arguments*/) override {
        return true;
    }
    ActionType getActionType() override { return ReplaceAction; }
    // The end of a complete translation unit would instantiate all that was used.
    clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
};

const clang::FrontendPluginRegistry::Add<OwnCode> ownCode("own-code", "checks only own code");
const clang::FrontendPluginRegistry::Add<ParseOnly> parseOnly("parse-only", "instantiates little");

} // namespace
